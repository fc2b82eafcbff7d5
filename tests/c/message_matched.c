/* Matched probes: a message that a probe has taken is no other receive's, and is received by its handle.
 *
 * ranks: 1 2 3 */
#include "check.h"

int main(int argc, char **argv)
{
    int flag = 0, count = -1, in[4] = {0}, out[4] = {1, 2, 3, 4};
    MPI_Message first, second, none;
    MPI_Request request, sent[2];
    MPI_Status status;
    check_begin(&argc, &argv);
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;

    OK(MPI_Improbe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, &none, &status));
    CHECK(!flag);
    OK(MPI_Isend(out, 3, MPI_INT, to, 1, MPI_COMM_WORLD, &sent[0]));
    OK(MPI_Issend(out, 4, MPI_INT, to, 1, MPI_COMM_WORLD, &sent[1]));
    OK(MPI_Mprobe(from, 1, MPI_COMM_WORLD, &first, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, 3);
    CHECK_EQ(status.MPI_SOURCE, from);
    CHECK_EQ(status.MPI_TAG, 1);
    /* The second one now is first in line. */
    for (flag = 0; !flag;)
        OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &second, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, 4);
    OK(MPI_Imrecv(in, 4, MPI_INT, &second, &request));
    CHECK(second == MPI_MESSAGE_NULL);
    OK(MPI_Wait(&request, &status));
    CHECK_AT(in, 3, 4);
    memset(in, 0, sizeof in);
    OK(MPI_Mrecv(in, 4, MPI_INT, &first, &status));
    CHECK(first == MPI_MESSAGE_NULL);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, 3);
    CHECK_AT(in, 2, 3);
    CHECK_AT(in, 3, 0);
    OK(MPI_Waitall(2, sent, MPI_STATUSES_IGNORE));

    OK(MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &none, &status));
    CHECK(none == MPI_MESSAGE_NO_PROC);
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    OK(MPI_Mrecv(in, 1, MPI_INT, &none, &status));
    CHECK(none == MPI_MESSAGE_NULL);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, 0);

    check_errors_return();
    FAILS(MPI_Mrecv(in, 1, MPI_INT, &none, &status), MPI_ERR_REQUEST);
    return check_end();
}
