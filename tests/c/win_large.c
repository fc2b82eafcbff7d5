/* Megabytes in one call: put, get, accumulate, contiguous and in strides.
 *
 * ranks: 1 2 4 */
#include "check.h"

enum { WORDS = 1 << 20 };

static double out[WORDS], in[WORDS];

int main(int argc, char **argv)
{
    double *memory;
    MPI_Win win;
    MPI_Datatype strided;
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_allocate(WORDS * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    for (int i = 0; i < WORDS; i++)
        memory[i] = 0, out[i] = check_rank + i, in[i] = -1;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(out, WORDS, MPI_DOUBLE, right, 0, WORDS, MPI_DOUBLE, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < WORDS; i++)
        CHECK_AT(memory, i, left + i);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(out, WORDS, MPI_DOUBLE, right, 0, WORDS, MPI_DOUBLE, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(in, WORDS, MPI_DOUBLE, right, 0, WORDS, MPI_DOUBLE, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < WORDS; i++)
        CHECK_AT(in, i, 2 * (check_rank + i));

    /* Every second number of the origin to every fourth of the target. */
    MPI_Datatype fourth;
    OK(MPI_Type_vector(WORDS / 4, 1, 2, MPI_DOUBLE, &strided));
    OK(MPI_Type_vector(WORDS / 4, 1, 4, MPI_DOUBLE, &fourth));
    OK(MPI_Type_commit(&strided));
    OK(MPI_Type_commit(&fourth));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(out, 1, strided, right, 1, 1, fourth, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Type_free(&strided));
    OK(MPI_Type_free(&fourth));
    for (int i = 0; i < WORDS; i++)
        CHECK_AT(memory, i, i % 4 == 1 ? left + i / 4 * 2 : 2 * (left + i));
    OK(MPI_Win_free(&win));
    return check_end();
}
