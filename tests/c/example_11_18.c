/* Example 11.18 of the chapter: a counting semaphore that all ranks decrement and then watch until it is zero.
 *
 * ranks: 2 4 8
 * memcheck: yes */
#include "check.h"

int main(int argc, char **argv)
{
    int *x, z = -1, minus_one = -1, unused = 0;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(sizeof *x, sizeof *x, MPI_INFO_NULL, MPI_COMM_WORLD, &x, &win));
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < 5; round++) {
        if (check_rank == 0) {
            *x = check_size;
            OK(MPI_Win_sync(win));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Accumulate(&minus_one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
        DOING("reading the semaphore until it is zero");
        do {
            MPI_Get_accumulate(&unused, 1, MPI_INT, &z, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win);
            MPI_Win_flush(0, win);
            CHECK(z >= 0 && z < check_size);
        } while (z != 0);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return check_end();
}
