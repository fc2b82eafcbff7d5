/* Examples 11.2 and 11.3 of the chapter: A = B(map) with a get for every entry; and the sum of the A(i) with map(i) = j in
 * B(j). Here map is 0-based.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

enum { M = 50 };

static void map_values(float *a, float *b, const int *map, MPI_Comm comm)
{
    MPI_Win win;
    MPI_Aint low, extent;
    OK(MPI_Type_get_extent(MPI_FLOAT, &low, &extent));
    OK(MPI_Win_create(b, M * extent, (int)extent, MPI_INFO_NULL, comm, &win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < M; i++)
        OK(MPI_Get(&a[i], 1, MPI_FLOAT, map[i] / M, map[i] % M, 1, MPI_FLOAT, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
}

static void sum(float *a, float *b, const int *map, MPI_Comm comm)
{
    MPI_Win win;
    OK(MPI_Win_create(b, M * (MPI_Aint)sizeof *b, sizeof *b, MPI_INFO_NULL, comm, &win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < M; i++)
        OK(MPI_Accumulate(&a[i], 1, MPI_FLOAT, map[i] / M, map[i] % M, 1, MPI_FLOAT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    float a[M], b[M];
    int map[M];
    check_begin(&argc, &argv);
    int all = M * check_size;
    for (int i = 0; i < M; i++) {
        map[i] = (int)(((check_rank * M + i) * 7LL + 3) % all);
        a[i] = -1;
        b[i] = (float)(check_rank * M + i);
    }
    map_values(a, b, map, MPI_COMM_WORLD);
    for (int i = 0; i < M; i++)
        CHECK_AT(a, i, map[i]);

    /* Many to few: index k goes to k / 3, so that three add up. */
    for (int i = 0; i < M; i++) {
        map[i] = (check_rank * M + i) / 3;
        a[i] = (float)(check_rank * M + i + 1);
        b[i] = 0;
    }
    sum(a, b, map, MPI_COMM_WORLD);
    for (int i = 0; i < M; i++) {
        int j = check_rank * M + i, expected = 0;
        for (int k = 3 * j; k < 3 * j + 3 && k < all; k++)
            expected += k + 1;
        CHECK_AT(b, i, expected);
    }
    return check_end();
}
