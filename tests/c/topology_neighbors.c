/* Neighborhood collectives of all kinds: on grids with edges, with dimensions of one and two ranks
 * that wrap around, on graphs with several edges between two ranks; blocking, nonblocking and
 * persistent; short blocks and long ones; blocks of no process stay as they were.
 *
 * ranks: 1 2 4 8
 * peers: none, MPICH 4.0 and Open MPI 4.1 confuse the two directions of a dimension of one or two ranks, or lack the persistent ones */
#include "check.h"

enum { MOST = 6, SHORT = 3, LONG = 3000 };

static int comm_rank, in, out, length;
static int sources[MOST], dests[MOST];
/* For each block that comes, the place that it has at its sender. */
static int sent_as[MOST];

static int *sent, *received;
static int counts[MOST], places[MOST];
static MPI_Aint bytes[MOST];
static MPI_Datatype types[MOST];

static int value(int rank, int block, int at, int round)
{
    return ((rank * MOST + block) * 4 + round) * 10000 + at;
}

static void fill(int round)
{
    for (int block = 0; block < out; block++)
        for (int at = 0; at < length; at++)
            sent[block * length + at] = value(comm_rank, block, at, round);
    for (int at = 0; at < in * length; at++)
        received[at] = -1;
}

/* `is_same` says that a rank gives all the same block. */
static void verify(int round, int is_same)
{
    for (int block = 0; block < in; block++) {
        int wrong = 0;
        for (int at = 0; at < length; at++) {
            int expected = sources[block] == MPI_PROC_NULL
                               ? -1
                               : value(sources[block], is_same ? 0 : sent_as[block], at, round);
            wrong += received[block * length + at] != expected;
        }
        CHECK_EQ(wrong, 0);
    }
}

static void start_and_wait(MPI_Request *request, int is_same)
{
    for (int round = 1; round < 4; round++) {
        fill(round);
        OK(MPI_Start(request));
        OK(MPI_Wait(request, MPI_STATUS_IGNORE));
        CHECK(*request != MPI_REQUEST_NULL);
        verify(round, is_same);
    }
    OK(MPI_Request_free(request));
}

static void all(MPI_Comm comm)
{
    const MPI_Info none = MPI_INFO_NULL;
    MPI_Request request;
    for (int i = 0; i < MOST; i++) {
        counts[i] = length, places[i] = i * length, types[i] = MPI_INT;
        bytes[i] = (MPI_Aint)sizeof(int) * i * length;
    }
#define BLOCKING(is_same, call) \
    do { fill(0); OK(call); verify(0, is_same); } while (0)
#define NONBLOCKING(is_same, call) \
    do { fill(0); OK(call); OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); verify(0, is_same); } while (0)
    BLOCKING(1, MPI_Neighbor_allgather(sent, length, MPI_INT, received, length, MPI_INT, comm));
    BLOCKING(1, MPI_Neighbor_allgatherv(sent, length, MPI_INT, received, counts, places, MPI_INT, comm));
    BLOCKING(0, MPI_Neighbor_alltoall(sent, length, MPI_INT, received, length, MPI_INT, comm));
    BLOCKING(0, MPI_Neighbor_alltoallv(sent, counts, places, MPI_INT, received, counts, places,
                                       MPI_INT, comm));
    BLOCKING(0, MPI_Neighbor_alltoallw(sent, counts, bytes, types, received, counts, bytes, types, comm));
    NONBLOCKING(1, MPI_Ineighbor_allgather(sent, length, MPI_INT, received, length, MPI_INT, comm, &request));
    NONBLOCKING(1, MPI_Ineighbor_allgatherv(sent, length, MPI_INT, received, counts, places, MPI_INT,
                                            comm, &request));
    NONBLOCKING(0, MPI_Ineighbor_alltoall(sent, length, MPI_INT, received, length, MPI_INT, comm, &request));
    NONBLOCKING(0, MPI_Ineighbor_alltoallv(sent, counts, places, MPI_INT, received, counts, places,
                                           MPI_INT, comm, &request));
    NONBLOCKING(0, MPI_Ineighbor_alltoallw(sent, counts, bytes, types, received, counts, bytes, types,
                                           comm, &request));
    OK(MPI_Neighbor_allgather_init(sent, length, MPI_INT, received, length, MPI_INT, comm, none, &request));
    start_and_wait(&request, 1);
    OK(MPI_Neighbor_allgatherv_init(sent, length, MPI_INT, received, counts, places, MPI_INT, comm,
                                    none, &request));
    start_and_wait(&request, 1);
    OK(MPI_Neighbor_alltoall_init(sent, length, MPI_INT, received, length, MPI_INT, comm, none, &request));
    start_and_wait(&request, 0);
    OK(MPI_Neighbor_alltoallv_init(sent, counts, places, MPI_INT, received, counts, places, MPI_INT,
                                   comm, none, &request));
    start_and_wait(&request, 0);
    OK(MPI_Neighbor_alltoallw_init(sent, counts, bytes, types, received, counts, bytes, types, comm,
                                   none, &request));
    start_and_wait(&request, 0);
}

static void grids(void)
{
    int dims[3] = {0, 0, 1}, periods[3] = {1, 0, 1};
    MPI_Comm grid;
    OK(MPI_Dims_create(check_size, 3, dims));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 1, &grid));
    OK(MPI_Comm_rank(grid, &comm_rank));
    in = out = 6;
    for (int i = 0; i < 6; i += 2) {
        OK(MPI_Cart_shift(grid, i / 2, 1, &sources[i], &sources[i + 1]));
        /* What comes from one side was sent towards the other. */
        sent_as[i] = i + 1, sent_as[i + 1] = i;
    }
    all(grid);
    OK(MPI_Comm_free(&grid));
}

static void graphs(void)
{
    /* One edge to the next rank, two to this one, in this order on both sides. */
    MPI_Comm graph;
    int next = (check_rank + 1) % check_size, before = (check_rank + check_size - 1) % check_size;
    comm_rank = check_rank, in = out = 3;
    sources[0] = before, sources[1] = sources[2] = check_rank;
    dests[0] = next, dests[1] = dests[2] = check_rank;
    for (int i = 0; i < 3; i++)
        sent_as[i] = i;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, sources, MPI_UNWEIGHTED, 3, dests,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL,
                                      0, &graph));
    all(graph);
    OK(MPI_Comm_free(&graph));
    /* No edges at all: nothing is touched. */
    in = out = 0;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                      MPI_WEIGHTS_EMPTY, MPI_INFO_NULL,
                                      0, &graph));
    all(graph);
    OK(MPI_Comm_free(&graph));
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    sent = malloc(sizeof(int) * MOST * LONG), received = malloc(sizeof(int) * MOST * LONG);
    for (int pass = 0; pass < 2; pass++) {
        length = pass == 0 ? SHORT : LONG;
        grids();
        graphs();
    }
    free(sent), free(received);
    return check_end();
}
