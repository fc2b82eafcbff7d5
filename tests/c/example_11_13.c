/* Examples 11.13 to 11.16 of the chapter: an iteration over a ring of cells, whose borders are exchanged by puts between
 * fences, by gets between fences with the core updated meanwhile, by puts with post-start-complete-wait, and by gets the same
 * way. All four give what one process gives.
 *
 * ranks: 1 2 3 8
 * memcheck: yes */
#include "check.h"

enum { CELLS = 12, STEPS = 25 };

/* Cells 1 to CELLS are the own ones, 0 and CELLS + 1 copies of the neighbours'. */
static long *a, mine[CELLS + 2];
static MPI_Win win;
static MPI_Group neighbours;
static int left, right;

static long next(long before, long here, long after)
{
    return (3 * before + here + 5 * after) % 100003;
}

static void update(int first, int last)
{
    for (int i = first; i <= last; i++)
        mine[i] = next(a[i - 1], a[i], a[i + 1]);
}

static void store(void)
{
    memcpy(&a[1], &mine[1], CELLS * sizeof *a);
}

static void put_borders(void)
{
    OK(MPI_Put(&a[1], 1, MPI_LONG, left, CELLS + 1, 1, MPI_LONG, win));
    OK(MPI_Put(&a[CELLS], 1, MPI_LONG, right, 0, 1, MPI_LONG, win));
}

static void get_borders(void)
{
    OK(MPI_Get(&a[0], 1, MPI_LONG, left, CELLS, 1, MPI_LONG, win));
    OK(MPI_Get(&a[CELLS + 1], 1, MPI_LONG, right, 1, 1, MPI_LONG, win));
}

static void step(int example)
{
    switch (example) {
    case 13:
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        put_borders();
        OK(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED, win));
        update(1, CELLS);
        break;
    case 14:
        OK(MPI_Win_fence(MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE, win));
        get_borders();
        update(2, CELLS - 1);
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        update(1, 1);
        update(CELLS, CELLS);
        break;
    case 15:
        OK(MPI_Win_post(neighbours, 0, win));
        OK(MPI_Win_start(neighbours, 0, win));
        put_borders();
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        update(1, CELLS);
        break;
    default:
        OK(MPI_Win_post(neighbours, MPI_MODE_NOPUT, win));
        OK(MPI_Win_start(neighbours, 0, win));
        get_borders();
        update(2, CELLS - 1);
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        update(1, 1);
        update(CELLS, CELLS);
    }
    store();
}

int main(int argc, char **argv)
{
    MPI_Group all;
    long serial[8 * CELLS], old[8 * CELLS];
    check_begin(&argc, &argv);
    int cells = CELLS * check_size, ring[2];
    left = (check_rank + check_size - 1) % check_size, right = (check_rank + 1) % check_size;
    ring[0] = left, ring[1] = right;
    OK(MPI_Win_allocate((CELLS + 2) * sizeof *a, sizeof *a, MPI_INFO_NULL, MPI_COMM_WORLD, &a, &win));
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, left == right ? 1 : 2, ring, &neighbours));
    for (int example = 13; example <= 16; example++) {
        for (int i = 0; i < cells; i++)
            serial[i] = i * i % 977 + example;
        memcpy(&a[1], &serial[check_rank * CELLS], CELLS * sizeof *a);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int s = 0; s < STEPS; s++) {
            step(example);
            memcpy(old, serial, sizeof old);
            for (int i = 0; i < cells; i++)
                serial[i] = next(old[(i + cells - 1) % cells], old[i], old[(i + 1) % cells]);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; i < CELLS; i++)
            CHECK_EQ(a[1 + i], serial[check_rank * CELLS + i]);
    }
    OK(MPI_Group_free(&neighbours));
    OK(MPI_Group_free(&all));
    OK(MPI_Win_free(&win));
    return check_end();
}
