/* Probing: sees a message without taking it, waits for one, tells its size, and the next receive gets the same.
 *
 * ranks: 2 4
 * memcheck: yes */
#include "check.h"

int main(int argc, char **argv)
{
    static int out[30000], in[30000];
    MPI_Status status;
    int flag = -1, count = -1;
    check_begin(&argc, &argv);
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    const int sizes[] = {0, 3, 30000};
    for (int i = 0; i < 30000; i++)
        out[i] = i;

    OK(MPI_Iprobe(from, 77, MPI_COMM_WORLD, &flag, &status));
    CHECK(!flag);
    for (int s = 0; s < 3; s++) {
        MPI_Request request;
        OK(MPI_Isend(out, sizes[s], MPI_INT, to, 50 + s, MPI_COMM_WORLD, &request));
        if (s == 1) {
            DOING("MPI_Iprobe until there is a message");
            do
                MPI_Iprobe(MPI_ANY_SOURCE, 50 + s, MPI_COMM_WORLD, &flag, &status);
            while (!flag);
        } else {
            OK(MPI_Probe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        }
        CHECK_EQ(status.MPI_SOURCE, from);
        CHECK_EQ(status.MPI_TAG, 50 + s);
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK_EQ(count, sizes[s]);
        /* Still there. */
        OK(MPI_Probe(from, 50 + s, MPI_COMM_WORLD, &status));
        OK(MPI_Recv(in, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < count; i++)
            CHECK_AT(in, i, i);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }

    /* The first of two that match; and not one of another communicator. */
    MPI_Comm copy;
    MPI_Request requests[3];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Isend(out, 1, MPI_INT, to, 60, copy, &requests[0]));
    OK(MPI_Isend(out, 2, MPI_INT, to, 60, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Isend(out, 3, MPI_INT, to, 60, MPI_COMM_WORLD, &requests[2]));
    for (int expected = 2; expected <= 3; expected++) {
        OK(MPI_Probe(MPI_ANY_SOURCE, 60, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK_EQ(count, expected);
        OK(MPI_Recv(in, count, MPI_INT, from, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Recv(in, 1, MPI_INT, from, 60, copy, MPI_STATUS_IGNORE));
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Comm_free(&copy));
    return check_end();
}
