/* A send and a receive under one request, whose status is the receive's; ready sends with requests; and the numbers of
 * matched messages.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: none, the calls are new in MPI 4.0, and the numbers in MPI 5.0 */
#include "check.h"

int main(int argc, char **argv)
{
    int out, in = -1, count = -1;
    MPI_Request request, second;
    MPI_Status status;
    check_begin(&argc, &argv);
    check_errors_return();
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    out = 10 + check_rank;
    OK(MPI_Isendrecv(&out, 1, MPI_INT, to, 3, &in, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    CHECK_EQ(in, 10 + from);
    CHECK(status.MPI_SOURCE == from && status.MPI_TAG == 3);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, 1);

    OK(MPI_Isendrecv_replace(&out, 1, MPI_INT, to, 4, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    CHECK_EQ(out, 10 + from);
    CHECK_EQ(status.MPI_SOURCE, from);

    OK(MPI_Isendrecv(NULL, 1, MPI_INT, MPI_PROC_NULL, 3, NULL, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);

    /* What is too long is the request's error. */
    int two[2] = {1, 2};
    OK(MPI_Isendrecv(two, 2, MPI_INT, to, 5, &in, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &request));
    FAILS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
    FAILS(MPI_Isendrecv(two, 1, MPI_INT, check_size, 5, &in, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
    FAILS(MPI_Isendrecv(two, 1, MPI_INT, to, 5, &in, 1, MPI_INT, from, 5, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);

    in = -1;
    OK(MPI_Irecv(&in, 1, MPI_INT, check_rank, 6, MPI_COMM_WORLD, &request));
    OK(MPI_Irsend(two, 1, MPI_INT, check_rank, 6, MPI_COMM_WORLD, &second));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&second, MPI_STATUS_IGNORE));
    CHECK_EQ(in, 1);

    MPI_Message message;
    OK(MPI_Isend(two, 2, MPI_INT, check_rank, 7, MPI_COMM_WORLD, &request));
    OK(MPI_Mprobe(check_rank, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    CHECK(MPI_Message_fromint(MPI_Message_toint(message)) == message);
    CHECK(MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
    OK(MPI_Mrecv(two, 2, MPI_INT, &message, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

    /* The empty status has no error, whatever stood there; the mark is seen where nothing is told. */
    int flag = 0, index = 0;
    request = MPI_REQUEST_NULL;
    for (int call = 0; call < 6; call++) {
        memset(&status, 0x55, sizeof status);
        switch (call) {
        case 0: OK(MPI_Wait(&request, &status)); break;
        case 1: OK(MPI_Test(&request, &flag, &status)); break;
        case 2: OK(MPI_Waitany(1, &request, &index, &status)); break;
        case 3: OK(MPI_Testany(1, &request, &index, &flag, &status)); break;
        case 4: OK(MPI_Request_get_status(request, &flag, &status)); break;
        default: OK(MPI_Request_get_status_any(1, &request, &index, &flag, &status));
        }
        CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
        CHECK_EQ(status.MPI_ERROR, MPI_SUCCESS);
    }
    return check_end();
}
