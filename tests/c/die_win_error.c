/* By default an error on a window is fatal for the job, also when the communicator returns errors.
 *
 * ranks: 1 2
 * expect: death MPI_Put
 * peers: not mpich, whose windows use the handler of the communicator until they are given one
 * peers: not mpich-abi, as mpich */
#include "check.h"

int main(int argc, char **argv)
{
    int *base, value = 1;
    MPI_Win win;
    check_begin(&argc, &argv);
    check_errors_return();
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, check_size, 0, 1, MPI_INT, win);
    puts("still alive");
    MPI_Finalize();
    return 0;
}
