/* Every collective, blocking, nonblocking and with large counts, with each of its arguments wrong: the class, no request,
 * nothing stored and nothing sent, so that the communicator works on.
 *
 * ranks: 1 2 3
 * memcheck: yes
 * peers: none, which arguments are checked is the library's choice */
#include "check.h"

enum { WORDS = 32, MOST = 8 };

/* A call's arguments, all good until one is made bad. */
struct call {
    void *in, *out;
    int in_count, out_count, root, *counts, *places;
    MPI_Datatype in_type, out_type, *types;
    MPI_Op op;
    MPI_Comm comm;
    MPI_Request *request;
};

static long in[WORDS], out[WORDS];
static int counts[MOST], places[MOST], negative[MOST];
static MPI_Count wide[MOST];
static MPI_Aint wide_places[MOST];
static MPI_Datatype types[MOST];
static MPI_Request request;
static MPI_Comm comm;

static struct call good(void)
{
    struct call call = {in,       out,      1,     1,       check_rank, counts,  places,
                        MPI_LONG, MPI_LONG, types, MPI_SUM, comm,       &request};
    return call;
}

/* Calls with one count and one type for all: what is wrong with the count or the type is so on both sides. */
static void reductions(struct call c, int class)
{
    MPI_Count n = c.out_count;
    STARTS_NOTHING(MPI_Allreduce(c.in, c.out, c.out_count, c.out_type, c.op, c.comm), class);
    STARTS_NOTHING(MPI_Allreduce_c(c.in, c.out, n, c.out_type, c.op, c.comm), class);
    STARTS_NOTHING(MPI_Iallreduce(c.in, c.out, c.out_count, c.out_type, c.op, c.comm, c.request), class);
    STARTS_NOTHING(MPI_Iallreduce_c(c.in, c.out, n, c.out_type, c.op, c.comm, c.request), class);
    STARTS_NOTHING(MPI_Reduce(c.in, c.out, c.out_count, c.out_type, c.op, c.root, c.comm), class);
    STARTS_NOTHING(MPI_Reduce_c(c.in, c.out, n, c.out_type, c.op, c.root, c.comm), class);
    STARTS_NOTHING(MPI_Ireduce(c.in, c.out, c.out_count, c.out_type, c.op, c.root, c.comm, c.request), class);
    STARTS_NOTHING(MPI_Scan(c.in, c.out, c.out_count, c.out_type, c.op, c.comm), class);
    STARTS_NOTHING(MPI_Iscan(c.in, c.out, c.out_count, c.out_type, c.op, c.comm, c.request), class);
    /* Rank 0 gets nothing, and may give anything for the buffer of what it gets. */
    if (check_rank > 0 || class != MPI_ERR_BUFFER || c.in == NULL) {
        STARTS_NOTHING(MPI_Exscan(c.in, c.out, c.out_count, c.out_type, c.op, c.comm), class);
        STARTS_NOTHING(MPI_Iexscan(c.in, c.out, c.out_count, c.out_type, c.op, c.comm, c.request), class);
    }
    STARTS_NOTHING(MPI_Reduce_scatter_block(c.in, c.out, c.out_count, c.out_type, c.op, c.comm), class);
    STARTS_NOTHING(MPI_Ireduce_scatter_block(c.in, c.out, c.out_count, c.out_type, c.op, c.comm, c.request), class);
    STARTS_NOTHING(MPI_Ireduce_scatter_block_c(c.in, c.out, n, c.out_type, c.op, c.comm, c.request), class);
}

/* Calls with counts for each rank. */
static void scattered_reductions(struct call c, int class)
{
    STARTS_NOTHING(MPI_Reduce_scatter(c.in, c.out, c.counts, c.out_type, c.op, c.comm), class);
    STARTS_NOTHING(MPI_Ireduce_scatter(c.in, c.out, c.counts, c.out_type, c.op, c.comm, c.request), class);
}

static void broadcasts(struct call c, int class)
{
    STARTS_NOTHING(MPI_Bcast(c.in, c.in_count, c.in_type, c.root, c.comm), class);
    STARTS_NOTHING(MPI_Bcast_c(c.in, c.in_count, c.in_type, c.root, c.comm), class);
    STARTS_NOTHING(MPI_Ibcast(c.in, c.in_count, c.in_type, c.root, c.comm, c.request), class);
    STARTS_NOTHING(MPI_Ibcast_c(c.in, c.in_count, c.in_type, c.root, c.comm, c.request), class);
}

static void rooted(struct call c, int class)
{
    STARTS_NOTHING(MPI_Gather(c.in, c.in_count, c.in_type, c.out, c.out_count, c.out_type, c.root, c.comm), class);
    STARTS_NOTHING(MPI_Gather_c(c.in, c.in_count, c.in_type, c.out, c.out_count, c.out_type, c.root, c.comm), class);
    STARTS_NOTHING(MPI_Igather(c.in, c.in_count, c.in_type, c.out, c.out_count, c.out_type, c.root, c.comm, c.request), class);
    STARTS_NOTHING(MPI_Scatter(c.out, c.out_count, c.out_type, c.in, c.in_count, c.in_type, c.root, c.comm), class);
    STARTS_NOTHING(MPI_Scatter_c(c.out, c.out_count, c.out_type, c.in, c.in_count, c.in_type, c.root, c.comm), class);
    STARTS_NOTHING(MPI_Iscatter(c.out, c.out_count, c.out_type, c.in, c.in_count, c.in_type, c.root, c.comm, c.request), class);
}

static void rooted_pieces(struct call c, int class)
{
    STARTS_NOTHING(MPI_Gatherv(c.in, c.in_count, c.in_type, c.out, c.counts, c.places, c.out_type, c.root, c.comm), class);
    STARTS_NOTHING(MPI_Igatherv(c.in, c.in_count, c.in_type, c.out, c.counts, c.places, c.out_type, c.root, c.comm, c.request), class);
    STARTS_NOTHING(MPI_Scatterv(c.out, c.counts, c.places, c.out_type, c.in, c.in_count, c.in_type, c.root, c.comm), class);
    STARTS_NOTHING(MPI_Iscatterv(c.out, c.counts, c.places, c.out_type, c.in, c.in_count, c.in_type, c.root, c.comm, c.request), class);
}

static void to_all(struct call c, int class)
{
    STARTS_NOTHING(MPI_Allgather(c.in, c.in_count, c.in_type, c.out, c.out_count, c.out_type, c.comm), class);
    STARTS_NOTHING(MPI_Allgather_c(c.in, c.in_count, c.in_type, c.out, c.out_count, c.out_type, c.comm), class);
    STARTS_NOTHING(MPI_Iallgather(c.in, c.in_count, c.in_type, c.out, c.out_count, c.out_type, c.comm, c.request), class);
    STARTS_NOTHING(MPI_Alltoall(c.in, c.in_count, c.in_type, c.out, c.out_count, c.out_type, c.comm), class);
    STARTS_NOTHING(MPI_Alltoall_c(c.in, c.in_count, c.in_type, c.out, c.out_count, c.out_type, c.comm), class);
    STARTS_NOTHING(MPI_Ialltoall(c.in, c.in_count, c.in_type, c.out, c.out_count, c.out_type, c.comm, c.request), class);
}

static void pieces_to_all(struct call c, int class)
{
    STARTS_NOTHING(MPI_Allgatherv(c.in, c.in_count, c.in_type, c.out, c.counts, c.places, c.out_type, c.comm), class);
    STARTS_NOTHING(MPI_Iallgatherv(c.in, c.in_count, c.in_type, c.out, c.counts, c.places, c.out_type, c.comm, c.request), class);
    STARTS_NOTHING(MPI_Alltoallv(c.in, counts, places, c.in_type, c.out, c.counts, c.places, c.out_type, c.comm), class);
    STARTS_NOTHING(MPI_Ialltoallv(c.in, counts, places, c.in_type, c.out, c.counts, c.places, c.out_type, c.comm, c.request), class);
}

static void types_to_all(struct call c, int class)
{
    STARTS_NOTHING(MPI_Alltoallw(c.in, counts, places, types, c.out, c.counts, c.places, c.types, c.comm), class);
    STARTS_NOTHING(MPI_Ialltoallw(c.in, counts, places, types, c.out, c.counts, c.places, c.types, c.comm, c.request), class);
}

static void all(struct call c, int class)
{
    reductions(c, class), scattered_reductions(c, class), broadcasts(c, class), rooted(c, class);
    rooted_pieces(c, class), to_all(c, class), pieces_to_all(c, class), types_to_all(c, class);
}

int main(int argc, char **argv)
{
    MPI_Datatype uncommitted, freed, stale;
    MPI_Comm gone, old;
    struct call c;
    long sum = -1, one = 1;
    int flag;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &gone));
    old = gone;
    OK(MPI_Comm_free(&gone));
    OK(MPI_Type_contiguous(1, MPI_LONG, &uncommitted));
    OK(MPI_Type_contiguous(1, MPI_LONG, &freed));
    OK(MPI_Type_commit(&freed));
    stale = freed;
    OK(MPI_Type_free(&freed));
    for (int i = 0; i < MOST; i++)
        counts[i] = 1, places[i] = 8 * i, negative[i] = i == check_size - 1 ? -1 : 1, types[i] = MPI_LONG, wide[i] = 1,
        wide_places[i] = 8 * i;
    for (int i = 0; i < WORDS; i++)
        in[i] = 100 + i, out[i] = 200 + i;
    request = MPI_REQUEST_NULL;

    for (int round = 0; round < 2; round++) {
        MPI_Comm comms[] = {MPI_COMM_NULL, old};
        for (int i = 0; i < 2; i++) {
            c = good(), c.comm = comms[i];
            all(c, MPI_ERR_COMM);
            STARTS_NOTHING(MPI_Barrier(comms[i]), MPI_ERR_COMM);
            STARTS_NOTHING(MPI_Ibarrier(comms[i], &request), MPI_ERR_COMM);
        }
        int roots[] = {check_size, -1, -77};
        for (int i = 0; i < 3; i++) {
            c = good(), c.root = roots[i];
            broadcasts(c, MPI_ERR_ROOT), rooted(c, MPI_ERR_ROOT), rooted_pieces(c, MPI_ERR_ROOT);
            STARTS_NOTHING(MPI_Reduce(in, out, 1, MPI_LONG, MPI_SUM, roots[i], comm), MPI_ERR_ROOT);
            STARTS_NOTHING(MPI_Ireduce(in, out, 1, MPI_LONG, MPI_SUM, roots[i], comm, &request), MPI_ERR_ROOT);
        }
        MPI_Datatype wrong[] = {MPI_DATATYPE_NULL, uncommitted, stale};
        for (int i = 0; i < 3; i++) {
            MPI_Datatype listed[MOST];
            for (int k = 0; k < MOST; k++)
                listed[k] = k == check_size - 1 ? wrong[i] : MPI_LONG;
            c = good(), c.in_type = wrong[i];
            broadcasts(c, MPI_ERR_TYPE), rooted(c, MPI_ERR_TYPE), rooted_pieces(c, MPI_ERR_TYPE);
            to_all(c, MPI_ERR_TYPE), pieces_to_all(c, MPI_ERR_TYPE);
            c = good(), c.out_type = wrong[i], c.types = listed;
            reductions(c, MPI_ERR_TYPE), scattered_reductions(c, MPI_ERR_TYPE), rooted(c, MPI_ERR_TYPE);
            rooted_pieces(c, MPI_ERR_TYPE), to_all(c, MPI_ERR_TYPE), pieces_to_all(c, MPI_ERR_TYPE);
            types_to_all(c, MPI_ERR_TYPE);
        }
        c = good(), c.in_count = -1;
        broadcasts(c, MPI_ERR_COUNT), rooted(c, MPI_ERR_COUNT), rooted_pieces(c, MPI_ERR_COUNT), to_all(c, MPI_ERR_COUNT);
        c = good(), c.out_count = -1, c.counts = negative;
        reductions(c, MPI_ERR_COUNT), scattered_reductions(c, MPI_ERR_COUNT), rooted(c, MPI_ERR_COUNT);
        rooted_pieces(c, MPI_ERR_COUNT), to_all(c, MPI_ERR_COUNT), pieces_to_all(c, MPI_ERR_COUNT);
        types_to_all(c, MPI_ERR_COUNT);
        MPI_Op ops[] = {MPI_OP_NULL, MPI_REPLACE, MPI_NO_OP};
        for (int i = 0; i < 3; i++) {
            c = good(), c.op = ops[i];
            reductions(c, MPI_ERR_OP), scattered_reductions(c, MPI_ERR_OP);
        }
        c = good(), c.op = MPI_BAND, c.in_type = c.out_type = MPI_DOUBLE;
        reductions(c, MPI_ERR_OP), scattered_reductions(c, MPI_ERR_OP);
        c = good(), c.in = NULL;
        all(c, MPI_ERR_BUFFER);
        c = good(), c.out = NULL;
        reductions(c, MPI_ERR_BUFFER), scattered_reductions(c, MPI_ERR_BUFFER), rooted(c, MPI_ERR_BUFFER);
        to_all(c, MPI_ERR_BUFFER), pieces_to_all(c, MPI_ERR_BUFFER), types_to_all(c, MPI_ERR_BUFFER);
        c = good(), c.out = MPI_IN_PLACE;
        reductions(c, MPI_ERR_BUFFER), to_all(c, MPI_ERR_BUFFER);
        c = good(), c.in = MPI_IN_PLACE;
        broadcasts(c, MPI_ERR_BUFFER);
        c = good(), c.counts = NULL;
        scattered_reductions(c, MPI_ERR_ARG), rooted_pieces(c, MPI_ERR_ARG), pieces_to_all(c, MPI_ERR_ARG);
        types_to_all(c, MPI_ERR_ARG);
        c = good(), c.places = NULL;
        rooted_pieces(c, MPI_ERR_ARG), pieces_to_all(c, MPI_ERR_ARG), types_to_all(c, MPI_ERR_ARG);
        c = good(), c.types = NULL;
        types_to_all(c, MPI_ERR_ARG);
        STARTS_NOTHING(MPI_Ibarrier(comm, NULL), MPI_ERR_ARG);
        STARTS_NOTHING(MPI_Ibcast(in, 1, MPI_LONG, 0, comm, NULL), MPI_ERR_ARG);
        STARTS_NOTHING(MPI_Iallreduce(in, out, 1, MPI_LONG, MPI_SUM, comm, NULL), MPI_ERR_ARG);
        STARTS_NOTHING(MPI_Ialltoall(in, 1, MPI_LONG, out, 1, MPI_LONG, comm, NULL), MPI_ERR_ARG);
        /* More than any memory. */
        MPI_Count huge = (MPI_Count)1 << 61;
        STARTS_NOTHING(MPI_Allreduce_c(in, out, huge, MPI_LONG, MPI_SUM, comm), MPI_ERR_COUNT);
        STARTS_NOTHING(MPI_Bcast_c(in, huge, MPI_LONG, check_rank, comm), MPI_ERR_COUNT);
        STARTS_NOTHING(MPI_Allgather_c(in, huge, MPI_LONG, out, huge, MPI_LONG, comm), MPI_ERR_COUNT);
        wide[check_size - 1] = -5;
        STARTS_NOTHING(MPI_Allgatherv_c(in, 1, MPI_LONG, out, wide, wide_places, MPI_LONG, comm), MPI_ERR_COUNT);
        STARTS_NOTHING(MPI_Alltoallv_c(in, wide, wide_places, MPI_LONG, out, wide, wide_places, MPI_LONG, comm), MPI_ERR_COUNT);

        for (int i = 0; i < WORDS; i++) {
            CHECK_AT(in, i, 100 + i);
            CHECK_AT(out, i, 200 + i);
        }
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        /* The second round finds collectives that go another way. */
        for (int i = 0; i < 5; i++)
            OK(MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm));
        CHECK_EQ(sum, check_size);
    }
    OK(MPI_Type_free(&uncommitted));
    OK(MPI_Comm_free(&comm));
    return check_end();
}
