/* Graph topologies, whole and distributed: what was given comes back, with weights; edges that
 * other ranks give; several edges between two ranks.
 *
 * ranks: 1 2 4 8
 * peers: not openmpi on 4 8, whose MPI_Graph_map has a place for every rank
 * memcheck: yes */
#include "check.h"

enum { MOST = 8 };

/* A ring in which each rank knows both sides, without the last rank if there are more than two. */
static void whole(void)
{
    int nodes = check_size > 2 ? check_size - 1 : check_size, index[MOST], edges[2 * MOST];
    int kind, number, count, got_index[MOST], got_edges[2 * MOST], neighbors[2], place;
    MPI_Comm graph, copy;
    for (int i = 0; i < nodes; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + nodes - 1) % nodes;
        edges[2 * i + 1] = (i + 1) % nodes;
    }
    OK(MPI_Graph_map(MPI_COMM_WORLD, nodes, index, edges, &place));
    CHECK_EQ(place, check_rank < nodes ? check_rank : MPI_UNDEFINED);
    OK(MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, 0, &graph));
    CHECK_EQ(graph == MPI_COMM_NULL, check_rank >= nodes);
    if (graph == MPI_COMM_NULL)
        return;
    OK(MPI_Comm_dup(graph, &copy));
    OK(MPI_Comm_free(&graph));
    OK(MPI_Topo_test(copy, &kind));
    CHECK_EQ(kind, MPI_GRAPH);
    OK(MPI_Graphdims_get(copy, &number, &count));
    CHECK_EQ(number, nodes);
    CHECK_EQ(count, 2 * nodes);
    OK(MPI_Graph_get(copy, MOST, 2 * MOST, got_index, got_edges));
    for (int i = 0; i < nodes; i++)
        CHECK_AT(got_index, i, index[i]);
    for (int i = 0; i < 2 * nodes; i++)
        CHECK_AT(got_edges, i, edges[i]);
    for (int i = 0; i < nodes; i++) {
        OK(MPI_Graph_neighbors_count(copy, i, &count));
        CHECK_EQ(count, 2);
        OK(MPI_Graph_neighbors(copy, i, 2, neighbors));
        CHECK_AT(neighbors, 0, edges[2 * i]);
        CHECK_AT(neighbors, 1, edges[2 * i + 1]);
    }
    OK(MPI_Comm_free(&copy));
}

static int order(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

/* Each rank sends to the next and, twice, to the one after that; weights name both ends. `adjacent`
 * says which call makes it. */
static void distributed(int adjacent, int weighted)
{
    int to[3] = {(check_rank + 1) % check_size, (check_rank + 2) % check_size, (check_rank + 2) % check_size};
    int from[3], out_weights[3], in_weights[3], kind, in, out, has_weights;
    int got_from[3], got_to[3], got_in[3] = {-1, -1, -1}, got_out[3] = {-1, -1, -1}, expected[3];
    MPI_Comm graph;
    for (int i = 0; i < 3; i++) {
        from[i] = (check_rank + 2 * check_size - (i == 0 ? 1 : 2)) % check_size;
        out_weights[i] = 10 * check_rank + to[i] + 1;
        in_weights[i] = 10 * from[i] + check_rank + 1;
    }
    if (adjacent) {
        OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, from, weighted ? in_weights : MPI_UNWEIGHTED, 3, to,
                                          weighted ? out_weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    } else {
        /* The edges of the rank before this one. */
        int other = (check_rank + check_size - 1) % check_size, degree = 3, ends[3], weights[3];
        for (int i = 0; i < 3; i++) {
            ends[i] = (other + (i == 0 ? 1 : 2)) % check_size;
            weights[i] = 10 * other + ends[i] + 1;
        }
        OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &other, &degree, ends, weighted ? weights : MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph));
    }
    OK(MPI_Topo_test(graph, &kind));
    CHECK_EQ(kind, MPI_DIST_GRAPH);
    OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &has_weights));
    CHECK(in == 3 && out == 3);
    CHECK_EQ(has_weights, weighted);
    OK(MPI_Dist_graph_neighbors(graph, 3, got_from, weighted ? got_in : MPI_UNWEIGHTED, 3, got_to,
                                weighted ? got_out : MPI_UNWEIGHTED));
    for (int i = 0; i < 3; i++) {
        if (weighted)
            CHECK_EQ(got_in[i], 10 * got_from[i] + check_rank + 1);
        if (weighted)
            CHECK_EQ(got_out[i], 10 * check_rank + got_to[i] + 1);
    }
    if (!adjacent) {
        qsort(got_from, 3, sizeof(int), order);
        qsort(got_to, 3, sizeof(int), order);
    }
    for (int side = 0; side < 2; side++) {
        memcpy(expected, side == 0 ? from : to, sizeof expected);
        if (!adjacent)
            qsort(expected, 3, sizeof(int), order);
        for (int i = 0; i < 3; i++)
            CHECK_AT(side == 0 ? got_from : got_to, i, expected[i]);
    }
    OK(MPI_Comm_free(&graph));
}

/* A rank that says nothing, and edges of which one rank tells all. */
static void star(void)
{
    int sources[MOST], degrees[MOST], ends[MOST], from[MOST], in, out, weighted, neighbor;
    MPI_Comm graph;
    for (int i = 0; i < check_size; i++)
        sources[i] = i, degrees[i] = 1, ends[i] = 0;
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, check_rank == check_size - 1 ? check_size : 0, sources, degrees, ends,
                             MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &graph));
    OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
    CHECK_EQ(in, check_rank == 0 ? check_size : 0);
    CHECK_EQ(out, 1);
    CHECK_EQ(weighted, 0);
    OK(MPI_Dist_graph_neighbors(graph, in, from, MPI_UNWEIGHTED, 1, &neighbor, MPI_UNWEIGHTED));
    qsort(from, (size_t)in, sizeof(int), order);
    for (int i = 0; i < in; i++)
        CHECK_AT(from, i, i);
    CHECK_EQ(neighbor, 0);
    OK(MPI_Comm_free(&graph));
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    whole();
    for (int way = 0; way < 4; way++)
        distributed(way % 2, way / 2);
    star();
    return check_end();
}
