/* A communicator that is freed lives on until its pending messages are through.
 *
 * ranks: 2 4 */
#include "check.h"

enum { WORDS = 100000 };

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Request requests[2];
    int *in = calloc(WORDS, sizeof *in), *out = malloc(WORDS * sizeof *out);
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < WORDS; i++)
        out[i] = check_rank + i;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Irecv(in, WORDS, MPI_INT, left, 3, comm, &requests[0]));
    OK(MPI_Isend(out, WORDS, MPI_INT, right, 3, comm, &requests[1]));
    OK(MPI_Comm_free(&comm));
    CHECK(comm == MPI_COMM_NULL);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < WORDS; i++)
        CHECK_AT(in, i, left + i);
    free(in);
    free(out);
    return check_end();
}
