/* A rank is killed that may raise the counters for which the others have requests: each of those ends with an error, alone and among
 * others. What has come before counts.
 *
 * ranks: 2 4 8
 * expect: death is at 1
 * peers: none, no other library has the calls */
#include "check.h"

#include <mpix_rma.h>

int main(int argc, char **argv)
{
    long *base, word = 7;
    int error, index = -1, class = -1;
    MPI_Count value = 0;
    MPI_Win win;
    MPI_Request requests[2];
    /* The launcher asks the others to end when one has been killed; here they are to find out by themselves. */
    signal(SIGTERM, SIG_IGN);
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 2));
    OK(MPI_Win_lock_all(0, win));
    if (check_rank < check_size - 1)
        OK(MPI_Send(NULL, 0, MPI_INT, check_size - 1, 0, MPI_COMM_WORLD));
    if (check_rank == check_size - 1) {
        /* No rank is in a call that needs this one any more. */
        for (int rank = 0; rank < check_rank; rank++)
            OK(MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int rank = 0; rank < check_rank; rank++)
            OK(MPIX_Put_notify(&word, 1, MPI_LONG, rank, 0, 1, MPI_LONG, 1, win));
        OK(MPI_Win_flush_all(win));
        raise(SIGKILL);
    }
    OK(MPIX_Win_request_notify(win, 0, 1, &requests[0]));
    OK(MPIX_Win_request_notify(win, 0, 2, &requests[1]));
    error = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    OK(MPI_Error_class(error, &class));
    CHECK(class == MPIX_ERR_PROC_FAILED);
    error = MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    OK(MPI_Error_class(error, &class));
    CHECK(class == MPIX_ERR_PROC_FAILED && index == 1 && requests[1] == MPI_REQUEST_NULL);
    OK(MPIX_Win_wait_notify(win, 1, 1, &value));
    CHECK(value == 1 && *base == 7);
    /* A rank that prints this fails the test. */
    if (check_failures > 0)
        puts("still alive");
    fflush(stdout);
    fprintf(stderr, "rank %d: counter 1 is at %d\n", check_rank, (int)value);
    _exit(3);
}
