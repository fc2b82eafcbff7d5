/* A lock made of two counters: the rank whose number is up changes a plain sum by get and put. The sum is right, so the
 * operations of one owner are complete at the target before the next one starts.
 *
 * ranks: 1 2 4 */
#include "check.h"

enum { ROUNDS = 15 };

int main(int argc, char **argv)
{
    long *memory, one = 1;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(3 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_lock_all(0, win));
    memory[0] = memory[1] = memory[2] = 0;
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < ROUNDS; i++) {
        long ticket, serving = -1, sum = -1;
        OK(MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, 0, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
        DOING("reading the number that is served until it is this rank's");
        while (serving != ticket) {
            MPI_Fetch_and_op(NULL, &serving, MPI_LONG, 0, 1, MPI_NO_OP, win);
            MPI_Win_flush(0, win);
        }
        OK(MPI_Get(&sum, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        CHECK_EQ(sum, ticket);
        sum++;
        OK(MPI_Put(&sum, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_sync(win));
    if (check_rank == 0)
        CHECK_EQ(memory[2], ROUNDS * check_size);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return check_end();
}
