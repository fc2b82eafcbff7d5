/* MPI_Abort ends all ranks, those that wait included, and its code is the status of the job.
 *
 * ranks: 1 2 4
 * expect: exit 7 */
#include "check.h"

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    if (check_rank == check_size - 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    puts("still alive");
    return 0;
}
