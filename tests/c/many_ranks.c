/* Shows: what a job of many ranks does at least once works from start to end: windows are made, a fence, lock_all with an
 * accumulate to each rank, and the sum of it. With the word "memory", rank 0 says the most private memory of a rank.
 *
 * ranks: 4
 * peers: none, others are slow where ranks outnumber cores
 */
#include "check.h"

/* Private memory of this process in KiB. */
static long private_kib(void)
{
    char line[256];
    long sum = 0, part;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Private_Clean: %ld", &part) == 1 || sscanf(line, "Private_Dirty: %ld", &part) == 1)
            sum += part;
    if (file)
        fclose(file);
    return sum;
}

int main(int argc, char **argv)
{
    enum { WINDOWS = 4 };
    long *base[WINDOWS], one = 1, all = 0, own, most;
    MPI_Win win[WINDOWS];

    check_begin(&argc, &argv);
    for (int i = 0; i < WINDOWS; i++) {
        MPI_Win_allocate(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base[i], &win[i]);
        memset(base[i], 0, 8 * sizeof(long));
        MPI_Win_fence(0, win[i]);
        MPI_Put(&one, 1, MPI_LONG, (check_rank + 1) % check_size, 1, 1, MPI_LONG, win[i]);
        MPI_Win_fence(0, win[i]);
        CHECK_EQ(base[i][1], 1);
    }
    MPI_Win_lock_all(0, win[0]);
    for (int rank = 0; rank < check_size; rank++)
        MPI_Accumulate(&one, 1, MPI_LONG, rank, 0, 1, MPI_LONG, MPI_SUM, win[0]);
    MPI_Win_unlock_all(win[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win[0]);
    MPI_Fetch_and_op(NULL, &all, MPI_LONG, (check_rank + check_size / 2) % check_size, 0, MPI_NO_OP, win[0]);
    MPI_Win_unlock_all(win[0]);
    CHECK_EQ(all, check_size);
    own = private_kib();
    MPI_Reduce(&own, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (argc > 1 && check_rank == 0)
        printf("at most %ld KiB of private memory\n", most);
    for (int i = 0; i < WINDOWS; i++)
        MPI_Win_free(&win[i]);
    return check_end();
}
