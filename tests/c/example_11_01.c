/* Example 11.1 of the chapter: A = B(map) with one get per process, whose types gather and scatter. Here map is 0-based.
 *
 * ranks: 1 2 4 */
#include "check.h"

enum { M = 50 };

/* A permutation of all indices, the same everywhere; and one that is none. */
static int permuted(int i, int all)
{
    return (int)((i * 7LL + 3) % all);
}

/* Example 11.1: types that gather what comes from each process. */
static void map_values(float *a, float *b, const int *map, int m, MPI_Comm comm, int p)
{
    int *index = malloc(2 * (size_t)m * sizeof *index), *count = calloc((size_t)p, sizeof *count);
    int *total = calloc((size_t)p + 1, sizeof *total), *oindex = index, *tindex = index + m;
    MPI_Datatype *otype = malloc((size_t)p * sizeof(MPI_Datatype)), *ttype = malloc((size_t)p * sizeof(MPI_Datatype));
    MPI_Win win;
    OK(MPI_Win_create(b, m * (MPI_Aint)sizeof *b, sizeof *b, MPI_INFO_NULL, comm, &win));
    for (int i = 0; i < m; i++)
        count[map[i] / m]++;
    for (int j = 0; j < p; j++)
        total[j + 1] = total[j] + count[j], count[j] = 0;
    for (int i = 0; i < m; i++) {
        int j = map[i] / m;
        oindex[total[j] + count[j]] = i;
        tindex[total[j] + count[j]++] = map[i] % m;
    }
    for (int j = 0; j < p; j++) {
        OK(MPI_Type_create_indexed_block(count[j], 1, oindex + total[j], MPI_FLOAT, &otype[j]));
        OK(MPI_Type_commit(&otype[j]));
        OK(MPI_Type_create_indexed_block(count[j], 1, tindex + total[j], MPI_FLOAT, &ttype[j]));
        OK(MPI_Type_commit(&ttype[j]));
    }
    OK(MPI_Win_fence(0, win));
    for (int j = 0; j < p; j++)
        OK(MPI_Get(a, 1, otype[j], j, 0, 1, ttype[j], win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
    for (int j = 0; j < p; j++) {
        OK(MPI_Type_free(&otype[j]));
        OK(MPI_Type_free(&ttype[j]));
    }
    free(index), free(count), free(total), free(otype), free(ttype);
}

int main(int argc, char **argv)
{
    float a[M], b[M];
    int map[M];
    check_begin(&argc, &argv);
    int all = M * check_size;
    for (int i = 0; i < M; i++) {
        map[i] = permuted(check_rank * M + i, all);
        a[i] = -1;
        b[i] = 1000 + check_rank * M + i;
    }
    map_values(a, b, map, M, MPI_COMM_WORLD, check_size);
    for (int i = 0; i < M; i++)
        CHECK_AT(a, i, 1000 + map[i]);
    return check_end();
}
