/* The counts of partitioned messages are `int`, in the calls that end in _c MPI_Count, as an erratum to MPI 5.0 has them;
 * the displacements of MPI_Neighbor_alltoallw and its like are MPI_Aint in both. A program of another header is called
 * through pointers of exactly these types.
 *
 * ranks: 1 2
 * peers: none, the erratum is newer than they are
 * memcheck: yes */
#include "check.h"

enum { PARTS = 3, EACH = 2, WORDS = PARTS * EACH };

typedef void any(void);
typedef int send_narrow(const void *, int, int, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
typedef int send_wide(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
typedef int receive_narrow(void *, int, int, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
typedef int receive_wide(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
typedef int edges_wide(const void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, void *, const MPI_Count *,
                       const MPI_Aint *, const MPI_Datatype *, MPI_Comm);

/* Through memory, so that the compiler cannot know what is called. */
static send_narrow *volatile psend = MPI_Psend_init;
static send_wide *volatile psend_c = MPI_Psend_init_c;
static receive_narrow *volatile precv = MPI_Precv_init;
static receive_wide *volatile precv_c = MPI_Precv_init_c;
static edges_wide *volatile alltoallw_c = MPI_Neighbor_alltoallw_c;

/* The upper half of the register that an `int` is passed in is anything. */
static long long dirty(int count)
{
    return 0x5a5a5a5a00000000LL | count;
}

static void passes(MPI_Request send, MPI_Request receive, const int *in, int first)
{
    OK(MPI_Start(&receive));
    OK(MPI_Start(&send));
    OK(MPI_Pready_range(0, PARTS - 1, send));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    for (int at = 0; at < WORDS; at++)
        CHECK_AT(in, at, first + at);
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
}

int main(int argc, char **argv)
{
    int out[WORDS], in[WORDS], right, left, periodic = 1;
    MPI_Request send, receive;
    MPI_Comm ring;
    check_begin(&argc, &argv);
    right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int at = 0; at < WORDS; at++)
        out[at] = 100 * check_rank + at, in[at] = -1;

    /* Called as by a compiler that leaves the upper half as it is. */
    OK(((send_wide *)(any *)psend)(out, PARTS, dirty(EACH), MPI_INT, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(((receive_wide *)(any *)precv)(in, PARTS, dirty(EACH), MPI_INT, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    passes(send, receive, in, 100 * left);
    memset(in, -1, sizeof in);
    OK(psend_c(out, PARTS, EACH, MPI_INT, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(precv_c(in, 1, WORDS, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    passes(send, receive, in, 100 * left);

    check_errors_return();
    FAILS(psend_c(out, PARTS, (MPI_Count)1 << 62, MPI_INT, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send), MPI_ERR_COUNT);
    FAILS(precv_c(in, PARTS, -1, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receive), MPI_ERR_COUNT);

    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, &periodic, 0, &ring));
    {
        const MPI_Count counts[2] = {1, 1};
        const MPI_Aint displs[2] = {sizeof(int), 0};
        const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
        OK(alltoallw_c(out, counts, displs, types, in, counts, displs, types, ring));
        /* Left gets the second word, right the first; to the left is what came from the right, and the other way round. */
        CHECK_EQ(in[1], 100 * left);
        CHECK_EQ(in[0], 100 * right + 1);
    }
    OK(MPI_Comm_free(&ring));
    return check_end();
}
