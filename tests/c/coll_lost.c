/* A rank is killed while the others are in a barrier, or far ahead in broadcasts without answers: each of them gets an
 * error, now and from then on, and none waits for ever.
 *
 * ranks: 2 4 8
 * expect: death is lost
 * peers: none, they end the job at once */
#include "check.h"

int main(int argc, char **argv)
{
    int error = MPI_SUCCESS, word = 0;
    char text[MPI_MAX_ERROR_STRING];
    /* The launcher asks the others to end when one has been killed; here they are to find out by themselves. */
    signal(SIGTERM, SIG_IGN);
    check_begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 0; i < 20; i++)
        OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == check_size - 1) {
        /* Long enough for the others to sleep; it would be right if they did not yet. */
        usleep(100000);
        raise(SIGKILL);
    }
    for (int i = 0; i < 1000 && error == MPI_SUCCESS; i++)
        error = MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (error == MPI_SUCCESS)
        error = MPI_Barrier(MPI_COMM_WORLD);
    if (error != MPI_SUCCESS && MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) {
        int len;
        OK(MPI_Error_string(error, text, &len));
        fprintf(stderr, "rank %d: %s\n", check_rank, text);
    } else {
        fprintf(stderr, "rank %d: no error of a rank that has gone\n", check_rank);
    }
    _exit(3);
}
