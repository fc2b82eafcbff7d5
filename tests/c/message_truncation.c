/* A message longer than the buffer is an error of the receive alone; it writes nothing beyond the buffer, and later
 * messages are not affected. A shorter one is none.
 *
 * ranks: 2 3
 * memcheck: yes
 * peers: not openmpi, whose 4.1 writes beyond the buffer here */
#include "check.h"

enum { LARGE = 100000, ROOM = 10 };

int main(int argc, char **argv)
{
    int *out = malloc(LARGE * sizeof *out), in[ROOM + 1], count = -1;
    MPI_Status status;
    MPI_Request request;
    check_begin(&argc, &argv);
    check_errors_return();
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < LARGE; i++)
        out[i] = i + 1;
    const int lengths[] = {ROOM + 1, LARGE};
    for (int k = 0; k < 2; k++) {
        for (int posted = 0; posted < 2; posted++) {
            MPI_Request sent;
            for (int i = 0; i <= ROOM; i++)
                in[i] = -1;
            if (posted)
                OK(MPI_Irecv(in, ROOM, MPI_INT, from, 2, MPI_COMM_WORLD, &request));
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Isend(out, lengths[k], MPI_INT, to, 2, MPI_COMM_WORLD, &sent));
            if (posted)
                FAILS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
            else
                FAILS(MPI_Recv(in, ROOM, MPI_INT, from, 2, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
            CHECK_AT(in, ROOM, -1);
            OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
        }
    }
    /* In a list, the list says that one status has the error. */
    MPI_Request pair[2], sent[2];
    MPI_Status statuses[2];
    int other = 0;
    OK(MPI_Irecv(in, ROOM, MPI_INT, from, 2, MPI_COMM_WORLD, &pair[0]));
    OK(MPI_Irecv(&other, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &pair[1]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Isend(out, ROOM + 5, MPI_INT, to, 2, MPI_COMM_WORLD, &sent[0]));
    OK(MPI_Isend(out, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &sent[1]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    FAILS(MPI_Waitall(2, pair, statuses), MPI_ERR_IN_STATUS);
    int class = -1;
    MPI_Error_class(statuses[0].MPI_ERROR, &class);
    CHECK_EQ(class, MPI_ERR_TRUNCATE);
    CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS || statuses[1].MPI_ERROR == MPI_ERR_PENDING);
    if (statuses[1].MPI_ERROR == MPI_ERR_PENDING)
        OK(MPI_Wait(&pair[1], MPI_STATUS_IGNORE));
    CHECK_EQ(other, 1);
    OK(MPI_Waitall(2, sent, MPI_STATUSES_IGNORE));

    OK(MPI_Isend(out, ROOM - 3, MPI_INT, to, 2, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(in, ROOM, MPI_INT, from, 2, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, ROOM - 3);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free(out);
    return check_end();
}
