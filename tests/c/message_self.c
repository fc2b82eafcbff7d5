/* A rank sends to itself: expected or not, small or large, on the world and alone.
 *
 * ranks: 1 2
 * memcheck: yes */
#include "check.h"

enum { LARGE = 200000 };

static void through(MPI_Comm comm, int me, int words, int posted_first)
{
    int *out = malloc((size_t)(words + 1) * sizeof *out), *in = calloc((size_t)words + 1, sizeof *in);
    MPI_Request send, receive;
    MPI_Status status;
    for (int i = 0; i < words; i++)
        out[i] = 3 * i + words;
    if (posted_first)
        OK(MPI_Irecv(in, words, MPI_INT, me, 8, comm, &receive));
    OK(MPI_Isend(out, words, MPI_INT, me, 8, comm, &send));
    if (!posted_first)
        OK(MPI_Irecv(in, words, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &receive));
    OK(MPI_Wait(&receive, &status));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_EQ(status.MPI_SOURCE, me);
    CHECK_EQ(status.MPI_TAG, 8);
    for (int i = 0; i < words; i++)
        CHECK_AT(in, i, 3 * i + words);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    const int sizes[] = {0, 1, 1000, LARGE};
    check_begin(&argc, &argv);
    for (int s = 0; s < 4; s++)
        for (int posted = 0; posted < 2; posted++) {
            through(MPI_COMM_WORLD, check_rank, sizes[s], posted);
            through(MPI_COMM_SELF, 0, sizes[s], posted);
        }
    return check_end();
}
