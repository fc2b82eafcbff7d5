/* A request whose communicator was freed: its error still goes to the handler that the communicator had, and nothing to
 * that of MPI_COMM_WORLD, which is fatal here.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: none, their requests forget the communicator, or raise the error of a truncated message with a class of their own */
#include "check.h"

static int calls, last_class;

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    calls++;
    MPI_Error_class(*code, &last_class);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Comm comm;
    MPI_Request requests[2], again;
    MPI_Status status;
    int sent[4] = {1, 2, 3, 4}, got = -1, class = -1;
    check_begin(&argc, &argv);
    OK(MPI_Comm_create_errhandler(on_comm, &handler));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Irecv(&got, 1, MPI_INT, check_rank, 1, comm, &requests[0]));
    OK(MPI_Irecv(&got, 1, MPI_INT, check_rank, 2, comm, &again));
    OK(MPI_Isend(sent, 4, MPI_INT, check_rank, 1, comm, &requests[1]));
    OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    OK(MPI_Isend(sent, 4, MPI_INT, check_rank, 2, comm, &requests[1]));
    OK(MPI_Comm_free(&comm));
    int code = MPI_Wait(&requests[0], &status);
    OK(MPI_Error_class(code, &class));
    CHECK_EQ(class, MPI_ERR_TRUNCATE);
    CHECK_EQ(calls, 1);
    CHECK_EQ(last_class, MPI_ERR_TRUNCATE);
    requests[0] = again;
    code = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    OK(MPI_Error_class(code, &class));
    CHECK_EQ(class, MPI_ERR_IN_STATUS);
    CHECK_EQ(calls, 2);
    CHECK_EQ(last_class, MPI_ERR_IN_STATUS);
    if (requests[1] != MPI_REQUEST_NULL)
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    return check_end();
}
