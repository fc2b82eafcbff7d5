/* A rank is killed while the others are in MPI_Finalize: the error goes to the handler of the communicator, which returns, and does
 * not end the job by itself.
 *
 * ranks: 2 4
 * expect: death finalize answers 101
 * peers: none, they end the job at once */
#include "check.h"

int main(int argc, char **argv)
{
    int error;
    /* The launcher asks the others to end when one has been killed; here they are to find out by themselves. */
    signal(SIGTERM, SIG_IGN);
    check_begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == check_size - 1) {
        usleep(50000);
        raise(SIGKILL);
    }
    error = MPI_Finalize();
    fprintf(stderr, "rank %d: finalize answers %d\n", check_rank, error);
    _exit(3);
}
