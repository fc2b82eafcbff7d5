/* Datatypes of the constructors with large counts, in windows.
 *
 * ranks: 2 */
#include "check.h"

enum { N = 24 };

static int *memory, here[N], next;
static MPI_Win win;

/* Puts one element of the type; `places` are the integers that it has, up to a negative number. */
static void put(const char *what, MPI_Datatype type, const int *places)
{
    int i, before = (check_rank + check_size - 1) % check_size;
    OK(MPI_Type_commit(&type));
    for (i = 0; i < N; i++)
        memory[i] = -1;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(here, 1, type, next, 0, 1, type, win));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < N; i++) {
        int is_there = *places == i, expected = is_there ? 100 * before + i : -1;
        if (memory[i] != expected)
            CHECK_SAY("%s: place %d is %d, not %d", what, i, memory[i], expected);
        places += is_there;
    }
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    const MPI_Count lens[] = {2, 1}, places[] = {4, 9}, bytes[] = {16, 36}, sizes[] = {4, 6}, part[] = {2, 2},
                    starts[] = {1, 3};
    const MPI_Datatype two[] = {MPI_INT, MPI_INT};
    int i;
    MPI_Datatype type;
    check_begin(&argc, &argv);
    next = (check_rank + 1) % check_size;
    for (i = 0; i < N; i++)
        here[i] = 100 * check_rank + i;
    OK(MPI_Win_allocate(N * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Type_contiguous_c(3, MPI_INT, &type));
    put("contiguous", type, (int[]){0, 1, 2, -1});
    OK(MPI_Type_vector_c(3, 2, 5, MPI_INT, &type));
    put("vector", type, (int[]){0, 1, 5, 6, 10, 11, -1});
    OK(MPI_Type_create_hvector_c(2, 1, 28, MPI_INT, &type));
    put("hvector", type, (int[]){0, 7, -1});
    OK(MPI_Type_indexed_c(2, lens, places, MPI_INT, &type));
    put("indexed", type, (int[]){4, 5, 9, -1});
    OK(MPI_Type_create_hindexed_c(2, lens, bytes, MPI_INT, &type));
    put("hindexed", type, (int[]){4, 5, 9, -1});
    OK(MPI_Type_create_indexed_block_c(2, 2, places, MPI_INT, &type));
    put("indexed block", type, (int[]){4, 5, 9, 10, -1});
    OK(MPI_Type_create_hindexed_block_c(2, 2, bytes, MPI_INT, &type));
    put("hindexed block", type, (int[]){4, 5, 9, 10, -1});
    OK(MPI_Type_create_struct_c(2, lens, bytes, two, &type));
    put("struct", type, (int[]){4, 5, 9, -1});
    OK(MPI_Type_create_subarray_c(2, sizes, part, starts, MPI_ORDER_C, MPI_INT, &type));
    put("subarray", type, (int[]){9, 10, 15, 16, -1});
    OK(MPI_Type_create_darray_c(1, 0, 2, sizes, (int[]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE},
                                (int[]){MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, (int[]){1, 1},
                                MPI_ORDER_C, MPI_INT, &type));
    put("darray", type, (int[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, -1});
    OK(MPI_Type_create_resized_c(MPI_INT, 0, 12, &type));
    {
        MPI_Datatype three;
        OK(MPI_Type_contiguous_c(3, type, &three));
        OK(MPI_Type_free(&type));
        put("resized", three, (int[]){0, 3, 6, -1});
    }
    OK(MPI_Win_free(&win));
    return check_end();
}
