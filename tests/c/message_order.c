/* Messages of one sender with one tag come in the order they were sent, whatever their sizes; with tags, the receiver
 * chooses which first.
 *
 * ranks: 2 4 8
 * memcheck: yes */
#include "check.h"

enum { COUNT = 60, WORDS = 40000 };

/* Small and large ones in turn, so that those that carry their data and those that ask first are mixed. */
static int words(int i)
{
    const int sizes[] = {1, 9000, 0, 200, WORDS, 3};
    return sizes[i % 6];
}

int main(int argc, char **argv)
{
    static int out[WORDS], in[WORDS];
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;

    /* Even ranks send first, then all receive and the odd ones send. */
    for (int turn = 0; turn < 2; turn++) {
        if (check_rank % 2 == turn) {
            for (int i = 0; i < COUNT; i++) {
                for (int k = 0; k < words(i); k++)
                    out[k] = 1000 * i + k % 997;
                OK(MPI_Send(out, words(i), MPI_INT, right, 4, MPI_COMM_WORLD));
            }
        } else {
            for (int i = 0; i < COUNT; i++) {
                MPI_Status status;
                int count = -1;
                memset(in, -1, sizeof in);
                OK(MPI_Recv(in, WORDS, MPI_INT, left, 4, MPI_COMM_WORLD, &status));
                OK(MPI_Get_count(&status, MPI_INT, &count));
                CHECK_EQ(count, words(i));
                for (int k = 0; k < words(i); k++)
                    CHECK_AT(in, k, 1000 * i + k % 997);
                CHECK(words(i) == WORDS || in[words(i)] == -1);
            }
        }
    }

    /* Tags against the order of sending. */
    MPI_Request requests[COUNT];
    for (int i = 0; i < COUNT; i++) {
        out[i] = 7 * i + check_rank;
        OK(MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        in[0] = -1;
        OK(MPI_Recv(in, 1, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(in[0], 7 * i + left);
    }
    OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
    return check_end();
}
