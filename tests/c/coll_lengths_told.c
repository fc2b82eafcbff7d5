/* A collective to which a rank gives another length than others expect: the error says which rank, how much it gives and how much
 * was expected.
 *
 * ranks: 2 3
 * peers: none, their words are their own */
#include "check.h"

static int in[64], out[64];
static MPI_Request request;

/* A call fails, and its text has these words. */
static void told(int code, const char *what, const char *words)
{
    if (code == MPI_SUCCESS)
        CHECK_SAY("%s succeeded", what);
    else if (strstr(check_describe(code), words) == NULL)
        CHECK_SAY("%s: %s, without \"%s\"", what, check_describe(code), words);
}

/* On the ranks of which this is true there is an error; on others there may be none. */
#define TOLD(where, call, words)                                                               \
    do {                                                                                       \
        DOING(#call);                                                                          \
        int code = (call);                                                                     \
        if (where)                                                                             \
            told(code, #call, words);                                                          \
        MPI_Barrier(MPI_COMM_WORLD);                                                           \
    } while (0)
#define LATER(call) ((call) == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : MPI_ERR_INTERN)

int main(int argc, char **argv)
{
    int mine;
    check_begin(&argc, &argv);
    check_errors_return();
    mine = check_rank == 1 ? 1 : 2;
    TOLD(check_rank == 0, MPI_Gather(in, mine, MPI_INT, out, 2, MPI_INT, 0, MPI_COMM_WORLD),
         "MPI_Gather: rank 1 gives 4 bytes for recvbuf of this rank, less than the 8 that its arguments say");
    TOLD(check_rank == 0, LATER(MPI_Igather(in, mine, MPI_INT, out, 2, MPI_INT, 0, MPI_COMM_WORLD, &request)),
         "rank 1 gives 4 bytes for recvbuf of this rank, less than the 8");
    TOLD(1, MPI_Allgather(in, mine, MPI_INT, out, 2, MPI_INT, MPI_COMM_WORLD), "rank 1 gives 4 bytes for recvbuf");
    TOLD(check_rank == 1, MPI_Bcast(out, mine, MPI_INT, 0, MPI_COMM_WORLD), "rank 0 gives 8 bytes, more than the 4");
    TOLD(check_rank == 1, LATER(MPI_Ibcast(out, mine, MPI_INT, 0, MPI_COMM_WORLD, &request)),
         "rank 0 gives 8 bytes, more than the 4");
    TOLD(check_rank == 1, MPI_Scatter(in, 2, MPI_INT, out, 3, MPI_INT, 0, MPI_COMM_WORLD),
         "rank 0 gives 8 bytes for recvbuf of this rank, less than the 12");
    TOLD(check_rank == 0, MPI_Reduce(in, out, mine, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), "this rank reduces 8 bytes, rank 1");
    mine = check_rank == 1 ? 3 : 2;
    TOLD(check_rank == 0, LATER(MPI_Iallreduce(in, out, mine, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request)),
         "this rank reduces 8 bytes, rank 1 gives 12");
    TOLD(check_rank == 1, MPI_Bcast(out, mine, MPI_INT, 0, MPI_COMM_WORLD),
         "rank 0 gives 8 bytes for buffer of this rank, less than the 12");
    return check_end();
}
