/* Heat on a ring of cells, halo cells exchanged by puts between fences: many epochs one after another, and the result is
 * that of one process.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

enum { CELLS = 20, STEPS = 100 };

/* Whole numbers, so that every order of additions gives the same. */
static long next(long left, long here, long right)
{
    return (left + 2 * here + right) % 1000003;
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    int all = CELLS * check_size, right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    long *cells, *serial = malloc((size_t)all * sizeof *serial), *old = malloc((size_t)all * sizeof *old), mine[CELLS];
    MPI_Win win;
    /* Cells 0 and CELLS + 1 are the halo. */
    OK(MPI_Win_allocate((CELLS + 2) * sizeof *cells, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD, &cells, &win));
    for (int i = 0; i < all; i++)
        serial[i] = i * i % 1009;
    for (int i = 0; i < CELLS; i++)
        cells[1 + i] = serial[check_rank * CELLS + i];
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    for (int step = 0; step < STEPS; step++) {
        OK(MPI_Put(&cells[1], 1, MPI_LONG, left, CELLS + 1, 1, MPI_LONG, win));
        OK(MPI_Put(&cells[CELLS], 1, MPI_LONG, right, 0, 1, MPI_LONG, win));
        OK(MPI_Win_fence(MPI_MODE_NOSTORE, win));
        for (int i = 0; i < CELLS; i++)
            mine[i] = next(cells[i], cells[i + 1], cells[i + 2]);
        memcpy(&cells[1], mine, sizeof mine);
        OK(MPI_Win_fence(step == STEPS - 1 ? MPI_MODE_NOSUCCEED : 0, win));
        memcpy(old, serial, (size_t)all * sizeof *old);
        for (int i = 0; i < all; i++)
            serial[i] = next(old[(i + all - 1) % all], old[i], old[(i + 1) % all]);
    }
    for (int i = 0; i < CELLS; i++)
        CHECK_EQ(cells[1 + i], serial[check_rank * CELLS + i]);
    OK(MPI_Win_free(&win));
    free(serial);
    free(old);
    return check_end();
}
