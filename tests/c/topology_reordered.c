/* With reordering, ranks of a node become neighbors in all kinds of graphs, where nodes are of one size; what each new rank knows is
 * what was said of it.
 *
 * ranks: 1 2 4 8
 * memcheck: yes
 * peers: none, reordering is the library's choice */
#include "check.h"

enum { MOST = 8 };

/* The first rank of the node of each rank of a communicator, and the number of ranks in each node if that is one for all, else 0. */
static int look(MPI_Comm comm, int *firsts)
{
    int first, size, ends[2];
    MPI_Comm node;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    first = check_rank;
    OK(MPI_Bcast(&first, 1, MPI_INT, 0, node));
    OK(MPI_Comm_size(node, &size));
    OK(MPI_Comm_free(&node));
    OK(MPI_Allgather(&first, 1, MPI_INT, firsts, 1, MPI_INT, comm));
    OK(MPI_Allreduce((int[]){size, -size}, ends, 2, MPI_INT, MPI_MAX, comm));
    return ends[0] == -ends[1] && check_size > 1 ? size : 0;
}

/* Ranks with the same remainder of a division by the number of nodes are neighbors, all of each other, in ascending order. */
static int clique(int rank, int nodes, int *others)
{
    int number = 0;
    for (int other = rank % nodes; other < check_size; other += nodes)
        if (other != rank)
            others[number++] = other;
    return number;
}

static int order(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

static void verify(MPI_Comm graph, const char *how, int nodes, int is_even, const int *neighbors, int number)
{
    int rank, firsts[MOST], expected[MOST], sorted[MOST], in[MOST];
    OK(MPI_Comm_rank(graph, &rank));
    look(graph, firsts);
    CHECK_EQ(number, clique(rank, nodes, expected));
    /* The order of edges that any rank may give is the library's. */
    memcpy(sorted, neighbors, sizeof(int) * (size_t)number);
    qsort(sorted, (size_t)number, sizeof(int), order);
    for (int i = 0; i < number; i++) {
        CHECK_AT(sorted, i, expected[i]);
        if (is_even && firsts[neighbors[i]] != firsts[rank])
            CHECK_SAY("%s: neighbor %d of %d is in another node", how, neighbors[i], rank);
    }
    OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, graph));
    for (int i = 0; i < number; i++)
        CHECK_AT(in, i, neighbors[i]);
}

int main(int argc, char **argv)
{
    int firsts[MOST], others[MOST], got[MOST], weights[MOST], index[MOST], edges[MOST * MOST], total = 0;
    int number, in, out, weighted, degree;
    MPI_Comm graph;
    check_begin(&argc, &argv);
    int each = look(MPI_COMM_WORLD, firsts), is_even = each > 0, nodes = is_even ? check_size / each : 1;

    for (int rank = 0; rank < check_size; rank++)
        index[rank] = total += clique(rank, nodes, &edges[total]);
    OK(MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 1, &graph));
    int rank;
    OK(MPI_Comm_rank(graph, &rank));
    OK(MPI_Graph_neighbors_count(graph, rank, &number));
    OK(MPI_Graph_neighbors(graph, rank, MOST, got));
    verify(graph, "MPI_Graph_create", nodes, is_even, got, number);
    OK(MPI_Comm_free(&graph));

    degree = clique(check_rank, nodes, others);
    for (int i = 0; i < degree; i++)
        weights[i] = 100 * check_rank + others[i];
    for (int adjacent = 0; adjacent < 2; adjacent++) {
        int in_weights[MOST], out_weights[MOST], to[MOST], from[MOST];
        for (int i = 0; i < degree; i++)
            in_weights[i] = 100 * others[i] + check_rank;
        if (adjacent)
            OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, others, in_weights, degree, others, weights, MPI_INFO_NULL, 1,
                                              &graph));
        else
            OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &check_rank, &degree, others, weights, MPI_INFO_NULL, 1, &graph));
        OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
        CHECK(in == degree && out == degree && weighted);
        OK(MPI_Dist_graph_neighbors(graph, MOST, from, in_weights, MOST, to, out_weights));
        OK(MPI_Comm_rank(graph, &rank));
        for (int i = 0; i < degree; i++) {
            if (adjacent)
                CHECK_AT(from, i, to[i]);
            CHECK_AT(in_weights, i, 100 * from[i] + rank);
            CHECK_AT(out_weights, i, 100 * rank + to[i]);
        }
        verify(graph, adjacent ? "MPI_Dist_graph_create_adjacent" : "MPI_Dist_graph_create", nodes, is_even, from, in);
        OK(MPI_Comm_free(&graph));
    }
    return check_end();
}
