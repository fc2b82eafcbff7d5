/* Wrong arguments of persistent requests are refused when the request is made, and it is not; what
 * cannot be started says so.
 *
 * ranks: 1 2
 * peers: none, other libraries refuse less or end the job */
#include "check.h"

int main(int argc, char **argv)
{
    int word = 0, index;
    MPI_Request request = MPI_REQUEST_NULL, plain, two[2];
    MPI_Datatype uncommitted;
    MPI_Status status;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Type_contiguous(2, MPI_INT, &uncommitted));
    STARTS_NOTHING(MPI_Send_init(&word, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    STARTS_NOTHING(MPI_Send_init(&word, 1, uncommitted, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_TYPE);
    STARTS_NOTHING(MPI_Ssend_init(&word, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
    STARTS_NOTHING(MPI_Rsend_init(&word, 1, MPI_INT, 0, -7, MPI_COMM_WORLD, &request), MPI_ERR_TAG);
    STARTS_NOTHING(MPI_Bsend_init(&word, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &request), MPI_ERR_COMM);
    STARTS_NOTHING(MPI_Recv_init(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Recv_init(&word, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
    FAILS(MPI_Recv_init(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Start(&request), MPI_ERR_REQUEST);
    FAILS(MPI_Start(NULL), MPI_ERR_ARG);
    FAILS(MPI_Startall(-1, &request), MPI_ERR_COUNT);
    FAILS(MPI_Startall(1, NULL), MPI_ERR_ARG);

    OK(MPI_Irecv(&word, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &plain));
    FAILS(MPI_Start(&plain), MPI_ERR_REQUEST);
    OK(MPI_Send(&word, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD));
    OK(MPI_Wait(&plain, &status));

    OK(MPI_Recv_init(&word, 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &request));
    FAILS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    OK(MPI_Start(&request));
    FAILS(MPI_Start(&request), MPI_ERR_REQUEST);
    two[0] = two[1] = request;
    FAILS(MPI_Waitany(2, two, &index, &status), MPI_ERR_REQUEST);
    /* A message that is too long: the request stays, and may be started again. */
    long long longer[2] = {1, 2};
    OK(MPI_Send(longer, 2, MPI_LONG_LONG, check_rank, 2, MPI_COMM_WORLD));
    FAILS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
    CHECK(request != MPI_REQUEST_NULL);
    OK(MPI_Start(&request));
    index = 17;
    OK(MPI_Send(&index, 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD));
    OK(MPI_Waitall(1, &request, &status));
    CHECK_EQ(word, 17);
    plain = request;
    OK(MPI_Request_free(&request));

    /* To and from no process: over at once, as often as it is started. */
    OK(MPI_Send_init(NULL, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &two[0]));
    OK(MPI_Recv_init(NULL, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &two[1]));
    for (int round = 0; round < 2; round++) {
        OK(MPI_Startall(2, two));
        OK(MPI_Wait(&two[0], &status));
        OK(MPI_Waitany(2, two, &index, &status));
        CHECK_EQ(index, 1);
        CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    }
    OK(MPI_Request_free(&two[0]));
    OK(MPI_Request_free(&two[1]));
    FAILS(MPI_Start(&plain), MPI_ERR_REQUEST);
    OK(MPI_Type_free(&uncommitted));
    return check_end();
}
