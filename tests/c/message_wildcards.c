/* Any source and any tag: every message once, the status tells which, and those of one sender in order.
 *
 * ranks: 2 4 8
 * memcheck: yes */
#include "check.h"

enum { EACH = 40 };

int main(int argc, char **argv)
{
    int seen[16] = {0}, last_tag[16];
    check_begin(&argc, &argv);
    if (check_rank > 0) {
        for (int i = 0; i < EACH; i++) {
            int value[2] = {check_rank, i};
            OK(MPI_Send(value, 2, MPI_INT, 0, i % 7, MPI_COMM_WORLD));
        }
    } else {
        memset(last_tag, -1, sizeof last_tag);
        for (int n = 0; n < EACH * (check_size - 1); n++) {
            int value[2] = {-1, -1}, count = -1;
            MPI_Status status;
            OK(MPI_Recv(value, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            OK(MPI_Get_count(&status, MPI_INT, &count));
            int from = status.MPI_SOURCE;
            CHECK_EQ(count, 2);
            CHECK_EQ(value[0], from);
            CHECK(from > 0 && from < check_size);
            CHECK_EQ(value[1], seen[from]);
            CHECK_EQ(status.MPI_TAG, seen[from] % 7);
            seen[from]++;
        }
        for (int i = 1; i < check_size; i++)
            CHECK_AT(seen, i, EACH);
    }

    OK(MPI_Barrier(MPI_COMM_WORLD));

    /* One source and any tag; one tag and any source: in the order that messages match. */
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size, out[3] = {10, 20, 30}, in[3];
    MPI_Request requests[3];
    MPI_Status status;
    for (int i = 0; i < 3; i++)
        OK(MPI_Isend(&out[i], 1, MPI_INT, to, 100 + i, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Recv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 101, MPI_COMM_WORLD, &status));
    CHECK_EQ(in[0], 20);
    CHECK_EQ(status.MPI_SOURCE, from);
    OK(MPI_Recv(&in[1], 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK_EQ(in[1], 10);
    CHECK_EQ(status.MPI_TAG, 100);
    OK(MPI_Recv(&in[2], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK_EQ(in[2], 30);
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));

    /* Posted receives are matched in the order they were posted, wildcards among them. */
    MPI_Request posted[3];
    memset(in, 0, sizeof in);
    OK(MPI_Irecv(&in[0], 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &posted[0]));
    OK(MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &posted[1]));
    OK(MPI_Irecv(&in[2], 1, MPI_INT, from, 9, MPI_COMM_WORLD, &posted[2]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 3; i++)
        OK(MPI_Send(&out[i], 1, MPI_INT, to, 9, MPI_COMM_WORLD));
    OK(MPI_Waitall(3, posted, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 3; i++)
        CHECK_AT(in, i, out[i]);
    return check_end();
}
