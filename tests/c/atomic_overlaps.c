/* Accumulates of many elements at once by all ranks on ranges that overlap: each element is changed as if alone.
 *
 * ranks: 1 2 4 8 */
#include "check.h"

enum { WORDS = 6000, ROUNDS = 10 };

int main(int argc, char **argv)
{
    long *memory, ones[WORDS], got[WORDS];
    double *sums;
    MPI_Win win, win_of_sums;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_allocate(WORDS * sizeof *sums, sizeof *sums, MPI_INFO_NULL, MPI_COMM_WORLD, &sums, &win_of_sums));
    for (int i = 0; i < WORDS; i++)
        memory[i] = 0, sums[i] = 0, ones[i] = 1;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_lock_all(0, win_of_sums));
    double halves[WORDS];
    for (int i = 0; i < WORDS; i++)
        halves[i] = 0.5;
    for (int round = 0; round < ROUNDS; round++)
        for (int to = 0; to < check_size; to++) {
            /* Even ranks in bulk from 0, odd ones from the middle, one element each of them now and then. */
            int first = check_rank % 2 ? WORDS / 2 : 0, count = WORDS / 4 * 3 - first;
            OK(MPI_Accumulate(ones, count, MPI_LONG, to, first, count, MPI_LONG, MPI_SUM, win));
            OK(MPI_Accumulate(halves, count, MPI_DOUBLE, to, first, count, MPI_DOUBLE, MPI_SUM, win_of_sums));
            OK(MPI_Fetch_and_op(ones, &got[0], MPI_LONG, to, WORDS / 2, MPI_SUM, win));
            OK(MPI_Win_flush(to, win));
        }
    OK(MPI_Win_unlock_all(win_of_sums));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win_of_sums));
    int even = (check_size + 1) / 2, odd = check_size / 2;
    for (int i = 0; i < WORDS; i++) {
        int covered = i >= WORDS / 4 * 3 ? 0 : even + (i >= WORDS / 2 ? odd : 0);
        CHECK_AT(memory, i, ROUNDS * (covered + (i == WORDS / 2 ? check_size : 0)));
        CHECK(sums[i] == ROUNDS * covered * 0.5);
    }
    OK(MPI_Win_unlock(check_rank, win_of_sums));
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Win_free(&win_of_sums));
    OK(MPI_Win_free(&win));
    return check_end();
}
