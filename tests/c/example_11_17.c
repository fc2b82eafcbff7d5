/* Example 11.17 of the chapter: two arrays are updated from each other in turn, each in a window of its own, and the next
 * exposure is announced before the last access ends, so that every start may assert that its post has happened.
 *
 * ranks: 2 4
 * peers: not openmpi, whose 4.1 waits for ever in start and post without checks */
#include "check.h"

enum { N = 8, STEPS = 20 };

/* A number per cell, and a copy of the right neighbour's numbers. The left one's are fetched too: communication must be
 * symmetric for the assertions to hold. */
static long *array[2], copy[2][N], other[2][N];
static MPI_Win wins[2];
static MPI_Group neighbours;
static int left, right;

static void post(int which)
{
    OK(MPI_Win_post(neighbours, MPI_MODE_NOCHECK | MPI_MODE_NOPUT, wins[which]));
}

/* Communication on one array and computation of the other. */
static void half_step(int from, int posts_next)
{
    int to = 1 - from;
    for (int i = 0; i < N; i++)
        array[to][i] = (array[to][i] + array[from][i] + copy[to][i]) % 100003;
    OK(MPI_Win_start(neighbours, MPI_MODE_NOCHECK, wins[from]));
    OK(MPI_Get(copy[from], N, MPI_LONG, right, 0, N, MPI_LONG, wins[from]));
    OK(MPI_Get(other[from], N, MPI_LONG, left, 0, N, MPI_LONG, wins[from]));
    if (posts_next)
        post(to);
    OK(MPI_Win_complete(wins[from]));
    OK(MPI_Win_wait(wins[from]));
}

/* What all ranks together hold, computed by one. */
static long serial[2][4][N], serial_copy[2][4][N];

static void serial_half_step(int from)
{
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < N; i++)
            serial[1 - from][r][i] = (serial[1 - from][r][i] + serial[from][r][i] + serial_copy[1 - from][r][i]) % 100003;
    for (int r = 0; r < check_size; r++)
        memcpy(serial_copy[from][r], serial[from][(r + 1) % check_size], sizeof serial_copy[from][r]);
}

int main(int argc, char **argv)
{
    MPI_Group all;
    check_begin(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    int both[2] = {left, right};
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    OK(MPI_Group_incl(all, left == right ? 1 : 2, both, &neighbours));
    for (int w = 0; w < 2; w++) {
        OK(MPI_Win_allocate(N * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &array[w], &wins[w]));
        for (int r = 0; r < check_size; r++)
            for (int i = 0; i < N; i++)
                serial[w][r][i] = 100 * w + 10 * r + i;
        memcpy(array[w], serial[w][check_rank], N * sizeof(long));
    }
    post(0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int step = 0; step < STEPS; step++) {
        half_step(0, 1);
        serial_half_step(0);
        half_step(1, step + 1 < STEPS);
        serial_half_step(1);
    }
    for (int w = 0; w < 2; w++)
        for (int i = 0; i < N; i++) {
            CHECK_EQ(array[w][i], serial[w][check_rank][i]);
            CHECK_EQ(copy[w][i], serial_copy[w][check_rank][i]);
            CHECK_EQ(other[w][i], serial_copy[w][(check_rank + check_size - 2) % check_size][i]);
        }
    OK(MPI_Group_free(&neighbours));
    OK(MPI_Group_free(&all));
    for (int w = 0; w < 2; w++)
        OK(MPI_Win_free(&wins[w]));
    return check_end();
}
