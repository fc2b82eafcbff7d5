/* Between two fences each rank puts to, gets from and adds to all; then nothing; fences on several windows in turn.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

enum { ROUNDS = 10 };

int main(int argc, char **argv)
{
    int *slots[2], *sum, got[8], out[8], me;
    MPI_Win wins[2], sums;
    check_begin(&argc, &argv);
    me = check_rank;
    for (int w = 0; w < 2; w++)
        OK(MPI_Win_allocate((MPI_Aint)check_size * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &slots[w], &wins[w]));
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &sum, &sums));
    *sum = 0;
    OK(MPI_Win_fence(0, sums));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win win = wins[round % 2];
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        for (int to = 0; to < check_size; to++) {
            out[to] = round * 100 + me * 10 + to;
            OK(MPI_Put(&out[to], 1, MPI_INT, to, me, 1, MPI_INT, win));
            OK(MPI_Accumulate(&me, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, sums));
        }
        OK(MPI_Win_fence(0, win));
        for (int from = 0; from < check_size; from++)
            CHECK_AT(slots[round % 2], from, round * 100 + from * 10 + me);
        for (int from = 0; from < check_size; from++)
            OK(MPI_Get(&got[from], 1, MPI_INT, from, (me + 1) % check_size, 1, MPI_INT, win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        for (int from = 0; from < check_size; from++)
            CHECK_AT(got, from, round * 100 + (me + 1) % check_size * 10 + from);
        OK(MPI_Win_fence(0, sums));
        CHECK_EQ(*sum, (round + 1) * check_size * (check_size - 1) / 2);
        OK(MPI_Win_fence(0, sums));
    }
    for (int i = 0; i < 50; i++)
        OK(MPI_Win_fence(0, wins[i % 2]));
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, wins[0]));
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, wins[0]));
    OK(MPI_Win_free(&sums));
    for (int w = 0; w < 2; w++)
        OK(MPI_Win_free(&wins[w]));
    return check_end();
}
