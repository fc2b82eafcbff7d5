/* Contiguous and vector types: size, extent, nested ones, negative strides, counts of zero; what they move.
 *
 * ranks: 1
 * memcheck: yes */
#include "check.h"

static void expect(MPI_Datatype type, int size, MPI_Aint low, MPI_Aint extent, int line)
{
    int is_size = -1;
    MPI_Aint is_low = -1, is_extent = -1;
    OK(MPI_Type_size(type, &is_size));
    OK(MPI_Type_get_extent(type, &is_low, &is_extent));
    if (is_size != size || is_low != low || is_extent != extent)
        CHECK_SAY("line %d: size %d, lower bound %ld, extent %ld", line, is_size, (long)is_low, (long)is_extent);
}

/* Sends `count` of the type from `from` to this very rank, which receives whole numbers. */
static void moves(MPI_Datatype type, int count, const int *from, int expected, const int *values, int line)
{
    int in[64], got = -1;
    MPI_Status status;
    MPI_Request request;
    OK(MPI_Irecv(in, 64, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Send(from, count, type, check_rank, 1, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Get_count(&status, MPI_INT, &got));
    if (got != expected)
        CHECK_SAY("line %d: %d numbers, not %d", line, got, expected);
    for (int i = 0; i < got && i < expected; i++)
        if (in[i] != values[i])
            CHECK_SAY("line %d: number %d is %d, not %d", line, i, in[i], values[i]);
}

int main(int argc, char **argv)
{
    MPI_Datatype pair, column, backwards, grid, nothing;
    int numbers[64], size_of = sizeof(int);
    check_begin(&argc, &argv);
    for (int i = 0; i < 64; i++)
        numbers[i] = i;

    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Type_commit(&pair));
    expect(pair, 2 * size_of, 0, 2 * size_of, __LINE__);
    moves(pair, 2, numbers, 4, (int[]){0, 1, 2, 3}, __LINE__);

    /* Three blocks of two at every fifth; two of them follow each other after the extent. */
    OK(MPI_Type_vector(3, 2, 5, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    expect(column, 6 * size_of, 0, 12 * size_of, __LINE__);
    moves(column, 2, numbers, 12, (int[]){0, 1, 5, 6, 10, 11, 12, 13, 17, 18, 22, 23}, __LINE__);

    /* The elements lie before the address. */
    OK(MPI_Type_vector(3, 1, -2, MPI_INT, &backwards));
    OK(MPI_Type_commit(&backwards));
    expect(backwards, 3 * size_of, -4 * size_of, 5 * size_of, __LINE__);
    moves(backwards, 1, numbers + 10, 3, (int[]){10, 8, 6}, __LINE__);

    /* A vector of vectors of pairs. */
    MPI_Datatype inner;
    OK(MPI_Type_vector(2, 1, 2, pair, &inner));
    OK(MPI_Type_vector(2, 1, 2, inner, &grid));
    OK(MPI_Type_commit(&grid));
    OK(MPI_Type_free(&inner));
    expect(grid, 8 * size_of, 0, 18 * size_of, __LINE__);
    moves(grid, 1, numbers, 8, (int[]){0, 1, 4, 5, 12, 13, 16, 17}, __LINE__);

    OK(MPI_Type_contiguous(0, MPI_INT, &nothing));
    OK(MPI_Type_commit(&nothing));
    expect(nothing, 0, 0, 0, __LINE__);
    moves(nothing, 3, numbers, 0, NULL, __LINE__);
    moves(column, 0, numbers, 0, NULL, __LINE__);

    OK(MPI_Type_free(&nothing));
    OK(MPI_Type_free(&grid));
    OK(MPI_Type_free(&backwards));
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&pair));
    CHECK(pair == MPI_DATATYPE_NULL);
    return check_end();
}
