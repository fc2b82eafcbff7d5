/* Persistent collectives of every kind, started three times each, some together, with buffers that
 * change in between; the communicator, the datatype and the operation are freed before the first
 * start.
 *
 * ranks: 1 2 4 8
 * peers: not openmpi, whose 4.1 has none
 * peers: not mpich, whose 4.0 loses the communicator that is freed
 * peers: not mpich-abi, as mpich
 * memcheck: yes */
#include "check.h"

enum { MOST = 8, ROUNDS = 3 };

static int out[MOST], in[MOST], word, counts[MOST], places[MOST];
static int bytes[MOST];
static MPI_Datatype types[MOST];

/* The values are pairs, so that a datatype of the program is needed: all are (n, -n). */
struct pair {
    int plus, minus;
};
static struct pair first[MOST], second[MOST], results[3];

static void add(void *in_values, void *inout_values, int *length, MPI_Datatype *datatype)
{
    struct pair *from = in_values, *to = inout_values;
    (void)datatype;
    for (int i = 0; i < *length; i++)
        to[i].plus += from[i].plus, to[i].minus += from[i].minus;
}

static int sum_to(int rank, int round)
{
    int sum = 0;
    for (int i = 0; i < rank; i++)
        sum += 10 * i + round;
    return sum;
}

/* Starts a request `ROUNDS` times: sets what goes out, and looks at what has come in. */
#define EACH_ROUND(set, look)                                                                  \
    do {                                                                                       \
        CHECK(request != MPI_REQUEST_NULL);                                                    \
        for (int round = 1; round <= ROUNDS; round++) {                                        \
            for (int i = 0; i < MOST; i++)                                                     \
                in[i] = -1;                                                                    \
            set;                                                                               \
            OK(MPI_Start(&request));                                                           \
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                                         \
            look;                                                                              \
        }                                                                                      \
        OK(MPI_Request_free(&request));                                                        \
    } while (0)

#define ALL(set)                                                                               \
    for (int i = 0; i < check_size; i++)                                                       \
    set

static void moving(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    int root = check_size - 1, is_root = check_rank == root, me = check_rank;
    for (int i = 0; i < MOST; i++)
        counts[i] = 1, places[i] = i, bytes[i] = i * (int)sizeof(int), types[i] = MPI_INT;
    OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &request));
    EACH_ROUND((void)0, (void)0);
    OK(MPI_Bcast_init(&word, 1, MPI_INT, root, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(word = is_root ? 70 + round : 0, CHECK_EQ(word, 70 + round));
    OK(MPI_Gather_init(out, 1, MPI_INT, in, 1, MPI_INT, root, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(out[0] = 10 * me + round, ALL(CHECK_AT(in, i, is_root ? 10 * i + round : -1)));
    OK(MPI_Gatherv_init(out, 1, MPI_INT, in, counts, places, MPI_INT, root, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(out[0] = 10 * me + round, ALL(CHECK_AT(in, i, is_root ? 10 * i + round : -1)));
    OK(MPI_Scatter_init(out, 1, MPI_INT, in, 1, MPI_INT, root, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(ALL(out[i] = 10 * i + round), CHECK_AT(in, 0, 10 * me + round));
    OK(MPI_Scatterv_init(out, counts, places, MPI_INT, in, 1, MPI_INT, root, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(ALL(out[i] = 10 * i + round), CHECK_AT(in, 0, 10 * me + round));
    OK(MPI_Allgather_init(out, 1, MPI_INT, in, 1, MPI_INT, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(out[0] = 10 * me + round, ALL(CHECK_AT(in, i, 10 * i + round)));
    OK(MPI_Allgatherv_init(MPI_IN_PLACE, 0, MPI_INT, in, counts, places, MPI_INT, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(in[me] = 10 * me + round, ALL(CHECK_AT(in, i, 10 * i + round)));
    OK(MPI_Alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(ALL(out[i] = 100 * me + 10 * i + round), ALL(CHECK_AT(in, i, 100 * i + 10 * me + round)));
    OK(MPI_Alltoallv_init(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(ALL(out[i] = 100 * me + 10 * i + round), ALL(CHECK_AT(in, i, 100 * i + 10 * me + round)));
    OK(MPI_Alltoallw_init(MPI_IN_PLACE, counts, bytes, types, in, counts, bytes, types, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(ALL(in[i] = 100 * me + 10 * i + round), ALL(CHECK_AT(in, i, 100 * i + 10 * me + round)));
}

static void computing(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    int me = check_rank, n = check_size;
    OK(MPI_Reduce_init(out, in, 1, MPI_INT, MPI_SUM, 0, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(out[0] = 10 * me + round, CHECK_AT(in, 0, me == 0 ? sum_to(n, round) : -1));
    OK(MPI_Allreduce_init(MPI_IN_PLACE, in, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(in[0] = 10 * me + round, CHECK_AT(in, 0, sum_to(n, round)));
    OK(MPI_Reduce_scatter_init(out, in, counts, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(ALL(out[i] = 10 * me + round + i), CHECK_AT(in, 0, sum_to(n, round) + n * me));
    OK(MPI_Reduce_scatter_block_init(out, in, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(ALL(out[i] = 10 * me + round + i), CHECK_AT(in, 0, sum_to(n, round) + n * me));
    OK(MPI_Scan_init(out, in, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(out[0] = 10 * me + round, CHECK_AT(in, 0, sum_to(me + 1, round)));
    OK(MPI_Exscan_init(out, in, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    EACH_ROUND(out[0] = 10 * me + round, CHECK_AT(in, 0, me > 0 ? sum_to(me, round) : -1));
}

/* Several at once, of things that are freed. */
static void freed(void)
{
    MPI_Comm comm;
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int flag, index;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Op_create(add, 1, &op));
    OK(MPI_Allreduce_init(first, results, 1, pair, op, comm, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Bcast_init(second, 1, pair, 0, comm, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Reduce_init(first, &results[1], 1, pair, op, 0, comm, MPI_INFO_NULL, &requests[2]));
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&pair));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Testall(3, requests, &flag, statuses));
    CHECK(flag);
    for (int round = 1; round <= ROUNDS; round++) {
        int sum = sum_to(check_size, round);
        first[0] = (struct pair){10 * check_rank + round, -10 * check_rank - round};
        second[0] = (struct pair){check_rank == 0 ? 5 + round : 0, check_rank == 0 ? -5 - round : 0};
        results[0] = results[1] = (struct pair){-1, -1};
        if (round == 1)
            OK(MPI_Startall(3, requests));
        /* The order of starts is each rank's own. */
        for (int i = 0; i < 3 && round > 1; i++)
            OK(MPI_Start(&requests[(i + check_rank) % 3]));
        for (int i = 0; i < 3; i++) {
            OK(MPI_Waitany(3, requests, &index, &statuses[0]));
            CHECK(index != MPI_UNDEFINED);
        }
        OK(MPI_Waitany(3, requests, &index, &statuses[0]));
        CHECK_EQ(index, MPI_UNDEFINED);
        CHECK(results[0].plus == sum && results[0].minus == -sum);
        CHECK(second[0].plus == 5 + round && second[0].minus == -5 - round);
        CHECK_EQ(results[1].plus, check_rank == 0 ? sum : -1);
    }
    for (int i = 0; i < 3; i++)
        OK(MPI_Request_free(&requests[i]));
}

/* Between two groups, the even and the odd ranks, in an order of starts that is each rank's own. */
static void between(void)
{
    MPI_Comm half, inter;
    MPI_Request requests[8];
    int odd = check_rank % 2, others = (check_size + odd) / 2, sum = 0;
    int root = odd ? 0 : check_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    int all[MOST], each[MOST], gathered[MOST], to[MOST], total, reduced, one;
    if (check_size == 1)
        return;
    OK(MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !odd, 5, &inter));
    OK(MPI_Allgather_init(out, 1, MPI_INT, all, 1, MPI_INT, inter, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Alltoall_init(to, 1, MPI_INT, each, 1, MPI_INT, inter, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Allreduce_init(out, &total, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &requests[2]));
    OK(MPI_Bcast_init(&word, 1, MPI_INT, root, inter, MPI_INFO_NULL, &requests[3]));
    OK(MPI_Gather_init(out, 1, MPI_INT, gathered, 1, MPI_INT, root, inter, MPI_INFO_NULL, &requests[4]));
    OK(MPI_Scatter_init(to, 1, MPI_INT, &one, 1, MPI_INT, root, inter, MPI_INFO_NULL, &requests[5]));
    OK(MPI_Reduce_init(out, &reduced, 1, MPI_INT, MPI_SUM, root, inter, MPI_INFO_NULL, &requests[6]));
    OK(MPI_Barrier_init(inter, MPI_INFO_NULL, &requests[7]));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
    for (int i = !odd; i < check_size; i += 2)
        sum += 10 * i;
    for (int round = 1; round <= ROUNDS; round++) {
        out[0] = 10 * check_rank + round;
        word = check_rank == 0 ? 70 + round : -1;
        for (int i = 0; i < others; i++)
            to[i] = 100 * check_rank + 10 * i + round;
        total = reduced = one = -1;
        for (int i = 0; i < 8; i++)
            OK(MPI_Start(&requests[(i + 3 * check_rank + round) % 8]));
        OK(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < others; i++) {
            CHECK_AT(all, i, 10 * (2 * i + !odd) + round);
            CHECK_AT(each, i, 100 * (2 * i + !odd) + 10 * (check_rank / 2) + round);
            if (check_rank == 0)
                CHECK_AT(gathered, i, 10 * (2 * i + 1) + round);
        }
        CHECK_EQ(total, sum + others * round);
        CHECK_EQ(word, odd || check_rank == 0 ? 70 + round : -1);
        CHECK_EQ(one, odd ? 10 * (check_rank / 2) + round : -1);
        CHECK_EQ(reduced, check_rank == 0 ? sum + others * round : -1);
    }
    for (int i = 0; i < 8; i++)
        OK(MPI_Request_free(&requests[i]));
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    moving();
    computing();
    freed();
    between();
    return check_end();
}
