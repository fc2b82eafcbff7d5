/* Cartesian topologies: dimensions, ranks and coordinates, shifts, sub-grids; ranks without a
 * place; a duplicate keeps the topology; the grid is the same whether ranks are reordered or not.
 *
 * ranks: 1 2 4 8
 * peers: not mpich on 2 4 8, whose 4.0 makes no communicator of no dimensions
 * peers: not mpich-abi, as mpich
 * peers: not openmpi on 2 4 8, whose MPI_Cart_map has a place for every rank
 * memcheck: yes */
#include "check.h"

static void dims_create(int nodes, int ndims, const int *given, const int *expected)
{
    int dims[4];
    for (int i = 0; i < ndims; i++)
        dims[i] = given[i];
    OK(MPI_Dims_create(nodes, ndims, dims));
    for (int i = 0; i < ndims; i++)
        CHECK_AT(dims, i, expected[i]);
}

/* All that a grid says of itself. */
static void look(MPI_Comm grid, int ndims, const int *dims, const int *periods)
{
    int kind, number, got_dims[3], got_periods[3], coords[3], here[3], rank, size, expected = 1;
    OK(MPI_Topo_test(grid, &kind));
    CHECK_EQ(kind, MPI_CART);
    OK(MPI_Cartdim_get(grid, &number));
    CHECK_EQ(number, ndims);
    OK(MPI_Comm_rank(grid, &rank));
    OK(MPI_Comm_size(grid, &size));
    OK(MPI_Cart_get(grid, 3, got_dims, got_periods, here));
    for (int i = 0; i < ndims; i++) {
        CHECK_AT(got_dims, i, dims[i]);
        CHECK_AT(got_periods, i, periods[i]);
        expected *= dims[i];
    }
    CHECK_EQ(size, expected);
    for (int other = 0; other < size; other++) {
        int back = -1, row_major = 0;
        OK(MPI_Cart_coords(grid, other, ndims, coords));
        for (int i = 0; i < ndims; i++) {
            row_major = row_major * dims[i] + coords[i];
            if (other == rank)
                CHECK_AT(here, i, coords[i]);
        }
        CHECK_EQ(row_major, other);
        OK(MPI_Cart_rank(grid, coords, &back));
        CHECK_EQ(back, other);
    }
    for (int i = 0; i < ndims; i++)
        for (int disp = -dims[i] - 1; disp <= dims[i] + 1; disp++) {
            int source, dest, expect[2];
            OK(MPI_Cart_shift(grid, i, disp, &source, &dest));
            for (int side = 0; side < 2; side++) {
                int at = here[i] + (side == 0 ? -disp : disp);
                for (int j = 0; j < ndims; j++)
                    coords[j] = here[j];
                if (periods[i])
                    at = ((at % dims[i]) + dims[i]) % dims[i];
                coords[i] = at;
                if (at < 0 || at >= dims[i])
                    expect[side] = MPI_PROC_NULL;
                else
                    OK(MPI_Cart_rank(grid, coords, &expect[side]));
            }
            CHECK_EQ(source, expect[0]);
            CHECK_EQ(dest, expect[1]);
        }
}

int main(int argc, char **argv)
{
    int dims[3] = {0, 0, 0}, periods[3] = {0, 1, 1}, kind, place, row, size;
    MPI_Comm grid, copy, line, less, point;
    check_begin(&argc, &argv);

    dims_create(6, 2, (int[]){0, 0}, (int[]){3, 2});
    dims_create(7, 2, (int[]){0, 0}, (int[]){7, 1});
    dims_create(6, 3, (int[]){0, 3, 0}, (int[]){2, 3, 1});
    dims_create(60, 3, (int[]){0, 0, 0}, (int[]){5, 4, 3});
    dims_create(1024, 2, (int[]){0, 0}, (int[]){32, 32});

    OK(MPI_Topo_test(MPI_COMM_WORLD, &kind));
    CHECK_EQ(kind, MPI_UNDEFINED);
    OK(MPI_Dims_create(check_size, 3, dims));
    for (int reorder = 0; reorder < 2; reorder++) {
        OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, reorder, &grid));
        look(grid, 3, dims, periods);
        OK(MPI_Comm_rank(grid, &place));
        if (!reorder)
            CHECK_EQ(place, check_rank);
        OK(MPI_Comm_dup(grid, &copy));
        look(copy, 3, dims, periods);
        OK(MPI_Comm_free(&copy));

        /* A line along the first dimension, and points. */
        OK(MPI_Cart_sub(grid, (int[]){1, 0, 0}, &line));
        look(line, 1, dims, periods);
        int sum = -1, coords[3], expected = 0;
        OK(MPI_Allreduce(&place, &sum, 1, MPI_INT, MPI_SUM, line));
        OK(MPI_Cart_coords(grid, place, 3, coords));
        for (coords[0] = 0; coords[0] < dims[0]; coords[0]++) {
            OK(MPI_Cart_rank(grid, coords, &row));
            expected += row;
        }
        CHECK_EQ(sum, expected);
        OK(MPI_Comm_free(&line));
        OK(MPI_Cart_sub(grid, (int[]){0, 0, 0}, &point));
        OK(MPI_Comm_size(point, &size));
        CHECK_EQ(size, 1);
        OK(MPI_Comm_free(&point));
        OK(MPI_Comm_free(&grid));
    }

    /* Ranks that have no place. */
    int few = check_size > 1 ? check_size - 1 : 1, wraps = 1;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &few, &wraps, 0, &less));
    CHECK_EQ(less == MPI_COMM_NULL, check_rank >= few);
    OK(MPI_Cart_map(MPI_COMM_WORLD, 1, &few, &wraps, &place));
    CHECK_EQ(place, check_rank < few ? check_rank : MPI_UNDEFINED);
    if (less != MPI_COMM_NULL) {
        look(less, 1, &few, &wraps);
        OK(MPI_Comm_free(&less));
    }
    return check_end();
}
