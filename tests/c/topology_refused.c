/* Every call of topologies with each of its arguments wrong: the class, no communicator, and nothing stored; when only one rank
 * is wrong, no rank gets a communicator; neighborhood collectives where there are no neighbors.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: none, which arguments are checked is the library's choice */
#include "check.h"

static MPI_Comm made = MPI_COMM_NULL;

/* A call that makes a communicator fails, and makes none. */
#define MAKES_NOTHING(call, class)                                                             \
    do {                                                                                       \
        FAILS(call, class);                                                                    \
        CHECK(made == MPI_COMM_NULL);                                                          \
    } while (0)

static const int yes[4] = {1, 1, 1, 1};

static void dimensions(void)
{
    int dims[2] = {0, 4};
    FAILS(MPI_Dims_create(6, 2, dims), MPI_ERR_DIMS);
    FAILS(MPI_Dims_create(0, 2, dims), MPI_ERR_DIMS);
    FAILS(MPI_Dims_create(-4, 2, dims), MPI_ERR_DIMS);
    FAILS(MPI_Dims_create(8, -1, dims), MPI_ERR_DIMS);
    FAILS(MPI_Dims_create(8, 2, NULL), MPI_ERR_ARG);
    CHECK(dims[0] == 0 && dims[1] == 4);
    dims[0] = -2;
    FAILS(MPI_Dims_create(8, 2, dims), MPI_ERR_DIMS);
    CHECK(dims[0] == -2 && dims[1] == 4);
    OK(MPI_Dims_create(1, 0, NULL));
}

static void grids(MPI_Comm world)
{
    int many[2] = {check_size, 2}, none[1] = {0}, negative[1] = {-1}, huge[3] = {1 << 30, 1 << 30, 1 << 30};
    int all[1] = {check_size}, place = -7, source = -7, dest = -7, coords[2] = {-7, -7};
    MPI_Comm line, point;
    MAKES_NOTHING(MPI_Cart_create(world, 2, many, yes, 0, &made), MPI_ERR_DIMS);
    MAKES_NOTHING(MPI_Cart_create(world, 1, none, yes, 1, &made), MPI_ERR_DIMS);
    MAKES_NOTHING(MPI_Cart_create(world, 1, negative, yes, 0, &made), MPI_ERR_DIMS);
    MAKES_NOTHING(MPI_Cart_create(world, 3, huge, yes, 1, &made), MPI_ERR_DIMS);
    MAKES_NOTHING(MPI_Cart_create(world, -1, all, yes, 0, &made), MPI_ERR_DIMS);
    MAKES_NOTHING(MPI_Cart_create(world, 1, NULL, yes, 0, &made), MPI_ERR_ARG);
    MAKES_NOTHING(MPI_Cart_create(world, 1, all, NULL, 0, &made), MPI_ERR_ARG);
    MAKES_NOTHING(MPI_Cart_create(MPI_COMM_NULL, 1, all, yes, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Cart_create(world, 1, all, yes, 0, NULL), MPI_ERR_ARG);
    FAILS(MPI_Cart_map(world, 2, many, yes, &place), MPI_ERR_DIMS);
    CHECK_EQ(place, -7);

    /* The last rank alone is wrong: the others are told of it. */
    int is_wrong = check_rank == check_size - 1;
    for (int reorder = 0; reorder < 2; reorder++)
        MAKES_NOTHING(MPI_Cart_create(world, 1, is_wrong ? none : all, yes, reorder, &made), is_wrong ? MPI_ERR_DIMS : MPI_ERR_OTHER);

    OK(MPI_Cart_create(world, 1, all, (int[]){0}, 0, &line));
    FAILS(MPI_Cart_coords(line, check_size, 1, coords), MPI_ERR_RANK);
    FAILS(MPI_Cart_coords(line, MPI_PROC_NULL, 1, coords), MPI_ERR_RANK);
    FAILS(MPI_Cart_coords(line, 0, 0, coords), MPI_ERR_ARG);
    FAILS(MPI_Cart_get(line, 0, coords, coords, coords), MPI_ERR_ARG);
    FAILS(MPI_Cart_rank(line, all, &place), MPI_ERR_ARG);
    FAILS(MPI_Cart_rank(line, negative, &place), MPI_ERR_ARG);
    FAILS(MPI_Cart_rank(line, NULL, &place), MPI_ERR_ARG);
    FAILS(MPI_Cart_shift(line, 1, 1, &source, &dest), MPI_ERR_DIMS);
    FAILS(MPI_Cart_shift(line, -1, 1, &source, &dest), MPI_ERR_DIMS);
    FAILS(MPI_Cart_shift(line, 0, 1, NULL, &dest), MPI_ERR_ARG);
    MAKES_NOTHING(MPI_Cart_sub(line, NULL, &made), MPI_ERR_ARG);
    FAILS(MPI_Graphdims_get(line, &source, &dest), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Graph_neighbors_count(line, 0, &place), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Dist_graph_neighbors_count(line, &source, &dest, &place), MPI_ERR_TOPOLOGY);
    CHECK(coords[0] == -7 && coords[1] == -7 && place == -7 && source == -7 && dest == -7);
    /* Far beyond the edge, on both sides; no step at all. */
    OK(MPI_Cart_shift(line, 0, 2000000000, &source, &dest));
    CHECK(source == MPI_PROC_NULL && dest == MPI_PROC_NULL);
    OK(MPI_Cart_shift(line, 0, 0, &source, &dest));
    CHECK(source == check_rank && dest == check_rank);

    /* A point has no dimensions. */
    OK(MPI_Cart_create(line, 0, NULL, NULL, 1, &point));
    CHECK_EQ(point == MPI_COMM_NULL, check_rank > 0);
    if (point != MPI_COMM_NULL) {
        OK(MPI_Cart_rank(point, NULL, &place));
        CHECK_EQ(place, 0);
        OK(MPI_Cart_get(point, 0, NULL, NULL, NULL));
        OK(MPI_Neighbor_alltoall(NULL, 1, MPI_INT, NULL, 1, MPI_INT, point));
        FAILS(MPI_Cart_shift(point, 0, 1, &source, &dest), MPI_ERR_DIMS);
        OK(MPI_Comm_free(&point));
    }
    OK(MPI_Comm_free(&line));
}

static void graphs(MPI_Comm world)
{
    int falls[2] = {1, 0}, one[1] = {1}, negative[1] = {-1}, zero[1] = {0}, outside[1] = {check_size};
    int number = -7, neighbors[1] = {-7};
    MPI_Comm loop;
    MAKES_NOTHING(MPI_Graph_create(world, check_size + 1, one, zero, 0, &made), MPI_ERR_ARG);
    MAKES_NOTHING(MPI_Graph_create(world, -1, one, zero, 0, &made), MPI_ERR_ARG);
    MAKES_NOTHING(MPI_Graph_create(world, 1, one, outside, 0, &made), MPI_ERR_ARG);
    MAKES_NOTHING(MPI_Graph_create(world, 1, one, negative, 1, &made), MPI_ERR_ARG);
    MAKES_NOTHING(MPI_Graph_create(world, 1, negative, zero, 0, &made), MPI_ERR_ARG);
    MAKES_NOTHING(MPI_Graph_create(world, 1, NULL, zero, 0, &made), MPI_ERR_ARG);
    MAKES_NOTHING(MPI_Graph_create(world, 1, one, NULL, 0, &made), MPI_ERR_ARG);
    if (check_size > 1)
        MAKES_NOTHING(MPI_Graph_create(world, 2, falls, zero, 0, &made), MPI_ERR_ARG);
    OK(MPI_Graph_create(world, 1, one, zero, 1, &loop));
    CHECK_EQ(loop == MPI_COMM_NULL, check_rank > 0);
    if (loop != MPI_COMM_NULL) {
        FAILS(MPI_Graph_neighbors_count(loop, 1, &number), MPI_ERR_RANK);
        FAILS(MPI_Graph_neighbors(loop, -1, 1, neighbors), MPI_ERR_RANK);
        FAILS(MPI_Graph_neighbors(loop, 0, -1, neighbors), MPI_ERR_ARG);
        FAILS(MPI_Graph_get(loop, -1, 1, neighbors, neighbors), MPI_ERR_ARG);
        FAILS(MPI_Cartdim_get(loop, &number), MPI_ERR_TOPOLOGY);
        CHECK(number == -7 && neighbors[0] == -7);
        OK(MPI_Comm_free(&loop));
    }
    OK(MPI_Graph_create(world, 0, NULL, NULL, 0, &loop));
    CHECK(loop == MPI_COMM_NULL);
}

static void distributed(MPI_Comm world)
{
    int self[1] = {check_rank}, outside[1] = {check_size}, one[1] = {1}, negative[1] = {-1}, number = -7;
    int weights[1] = {5}, got[1] = {-7}, reorder = 0;
    MPI_Comm graph;
    const MPI_Info none = MPI_INFO_NULL;
#define ADJACENT(in, from, from_weights, out, to, to_weights) \
    MPI_Dist_graph_create_adjacent(world, in, from, from_weights, out, to, to_weights, none, reorder, &made)
#define EDGES(n, from, degrees, to, by) MPI_Dist_graph_create(world, n, from, degrees, to, by, none, reorder, &made)
    MAKES_NOTHING(ADJACENT(-1, self, weights, 1, self, weights), MPI_ERR_ARG);
    MAKES_NOTHING(ADJACENT(1, self, weights, -1, self, weights), MPI_ERR_ARG);
    MAKES_NOTHING(ADJACENT(1, outside, weights, 1, self, weights), MPI_ERR_RANK);
    MAKES_NOTHING(ADJACENT(1, self, weights, 1, negative, weights), MPI_ERR_RANK);
    MAKES_NOTHING(ADJACENT(1, self, negative, 1, self, weights), MPI_ERR_ARG);
    MAKES_NOTHING(ADJACENT(1, self, MPI_WEIGHTS_EMPTY, 1, self, weights), MPI_ERR_ARG);
    MAKES_NOTHING(ADJACENT(1, NULL, weights, 1, self, weights), MPI_ERR_ARG);
    MAKES_NOTHING(EDGES(-1, self, one, self, weights), MPI_ERR_ARG);
    MAKES_NOTHING(EDGES(1, self, negative, self, weights), MPI_ERR_ARG);
    MAKES_NOTHING(EDGES(1, outside, one, self, weights), MPI_ERR_RANK);
    MAKES_NOTHING(EDGES(1, self, one, outside, weights), MPI_ERR_RANK);
    MAKES_NOTHING(EDGES(1, self, one, self, negative), MPI_ERR_ARG);
    MAKES_NOTHING(EDGES(1, self, one, self, MPI_WEIGHTS_EMPTY), MPI_ERR_ARG);
    MAKES_NOTHING(EDGES(1, self, NULL, self, weights), MPI_ERR_ARG);
    /* The first rank alone is wrong. */
    int *others = check_rank == 0 ? outside : self, class = check_rank == 0 ? MPI_ERR_RANK : MPI_ERR_OTHER;
    for (reorder = 0; reorder < 2; reorder++) {
        MAKES_NOTHING(ADJACENT(1, others, MPI_UNWEIGHTED, 1, self, MPI_UNWEIGHTED), class);
        MAKES_NOTHING(EDGES(1, self, one, others, MPI_UNWEIGHTED), class);
        int *index = check_rank == 0 ? negative : one;
        MAKES_NOTHING(MPI_Graph_create(world, 1, index, (int[]){0}, reorder, &made), check_rank == 0 ? MPI_ERR_ARG : MPI_ERR_OTHER);
    }

    OK(MPI_Dist_graph_create_adjacent(world, 1, self, weights, 1, self, weights, none, 1, &graph));
    FAILS(MPI_Dist_graph_neighbors(graph, -1, got, got, 1, got, got), MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_neighbors(graph, 1, NULL, got, 1, got, got), MPI_ERR_ARG);
    FAILS(MPI_Graphdims_get(graph, &number, got), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_shift(graph, 0, 1, &number, got), MPI_ERR_TOPOLOGY);
    CHECK(number == -7 && got[0] == -7);
    OK(MPI_Dist_graph_neighbors(graph, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED));
    OK(MPI_Comm_free(&graph));
}

/* No topology; counts, places and datatypes that are wrong, where there is one. */
static void neighborhoods(MPI_Comm world)
{
    int out[2] = {check_rank, check_rank}, in[2] = {-7, -7}, counts[2] = {1, 1}, wrong[2] = {1, -1}, places[2] = {0, 1};
    MPI_Aint bytes[2] = {0, 4};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT}, bad[2] = {MPI_INT, MPI_DATATYPE_NULL};
    MPI_Comm ring;
    MPI_Request request = MPI_REQUEST_NULL;
    FAILS(MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, world), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Neighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, world), MPI_ERR_TOPOLOGY);
    STARTS_NOTHING(MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, world, &request), MPI_ERR_TOPOLOGY);
    STARTS_NOTHING(MPI_Neighbor_alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, world, MPI_INFO_NULL, &request),
                   MPI_ERR_TOPOLOGY);
    FAILS(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_NULL), MPI_ERR_COMM);

    OK(MPI_Cart_create(world, 1, &check_size, yes, 0, &ring));
    FAILS(MPI_Neighbor_alltoall(out, -1, MPI_INT, in, 1, MPI_INT, ring), MPI_ERR_COUNT);
    FAILS(MPI_Neighbor_alltoall(out, 1, MPI_DATATYPE_NULL, in, 1, MPI_INT, ring), MPI_ERR_TYPE);
    FAILS(MPI_Neighbor_alltoall(NULL, 1, MPI_INT, in, 1, MPI_INT, ring), MPI_ERR_BUFFER);
    FAILS(MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, MPI_INT, in, 1, MPI_INT, ring), MPI_ERR_BUFFER);
    FAILS(MPI_Neighbor_alltoall(in, 1, MPI_INT, in, 1, MPI_INT, ring), MPI_ERR_BUFFER);
    FAILS(MPI_Neighbor_alltoallv(out, wrong, places, MPI_INT, in, counts, places, MPI_INT, ring), MPI_ERR_COUNT);
    FAILS(MPI_Neighbor_alltoallv(out, NULL, places, MPI_INT, in, counts, places, MPI_INT, ring), MPI_ERR_ARG);
    FAILS(MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, wrong, places, MPI_INT, ring), MPI_ERR_COUNT);
    FAILS(MPI_Neighbor_alltoallw(out, counts, bytes, bad, in, counts, bytes, types, ring), MPI_ERR_TYPE);
    STARTS_NOTHING(MPI_Ineighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, bad, ring, &request), MPI_ERR_TYPE);
    STARTS_NOTHING(MPI_Neighbor_allgather_init(out, -1, MPI_INT, in, 1, MPI_INT, ring, MPI_INFO_NULL, &request),
                   MPI_ERR_COUNT);
    FAILS(MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring, NULL), MPI_ERR_ARG);
    CHECK(in[0] == -7 && in[1] == -7);
    /* All of them were local, so the next call is the first for all ranks. */
    OK(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring));
    CHECK_EQ(in[0], (check_rank + check_size - 1) % check_size);
    CHECK_EQ(in[1], (check_rank + 1) % check_size);
    /* No elements: neither memory nor neighbors are looked at. */
    OK(MPI_Neighbor_alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, ring));
    OK(MPI_Comm_free(&ring));
}

int main(int argc, char **argv)
{
    MPI_Comm world;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &world));
    dimensions();
    grids(world);
    graphs(world);
    distributed(world);
    neighborhoods(world);
    OK(MPI_Comm_free(&world));
    return check_end();
}
