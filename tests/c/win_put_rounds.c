/* Rounds of small puts, each with a local flush, a flush and a barrier: packets come while others are looked at.
 *
 * ranks: 3 8 */
#include "check.h"

int main(int argc, char **argv)
{
    int values[8], *base;
    MPI_Win win;
    check_begin(&argc, &argv);
    int next = (check_rank + 1) % check_size, before = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_allocate(1000 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < 50; round++) {
        for (int k = 0; k < 200; k++) {
            for (int i = 0; i < 8; i++)
                values[i] = 1000 * check_rank + round;
            OK(MPI_Put(values, 8, MPI_INT, next, 8 * (k % 125), 8, MPI_INT, win));
            OK(MPI_Win_flush_local(next, win));
            if (k == 124)
                OK(MPI_Win_flush(next, win));
        }
        OK(MPI_Win_flush(next, win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_sync(win));
        for (int i = 0; i < 1000; i++)
            CHECK_EQ(base[i], 1000 * before + round);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return check_end();
}
