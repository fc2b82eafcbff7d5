/* A rank ends its part in the job with locks that it holds: the others get them, behind what it has put.
 *
 * ranks: 2 3 4
 * peers: none, the program is erroneous */
#include "check.h"

static MPI_Win window(void)
{
    long *base;
    MPI_Win win;
    OK(MPI_Win_allocate(2 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    base[0] = base[1] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return win;
}

/* The first put shows that the lock is held, the second one is left to the end. */
static void put(MPI_Win win)
{
    static const long values[] = { 6, 5 };
    OK(MPI_Put(&values[1], 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    OK(MPI_Put(&values[0], 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
}

static void look(MPI_Win win)
{
    long values[2] = { 0, 0 };
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Get(values, 2, MPI_LONG, 0, 0, 2, MPI_LONG, win));
    OK(MPI_Win_unlock(0, win));
    CHECK(values[0] == 6 && values[1] == 5);
}

int main(int argc, char **argv)
{
    MPI_Win single, all;
    check_begin(&argc, &argv);
    single = window();
    all = window();
    if (check_rank == check_size - 1) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, single));
        put(single);
        OK(MPI_Win_lock_all(0, all));
        put(all);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank < check_size - 1) {
        look(single);
        look(all);
    }
    /* No agreement: the last rank is in no call but this one. */
    if (check_rank == 0 && check_failures == 0)
        puts("no errors");
    MPI_Finalize();
    return check_failures != 0;
}
