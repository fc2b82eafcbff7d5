/* Epochs of lock_all that follow each other keep no writer waiting: all ranks but the last repeat them until the last one, which
 * takes the lock of rank 1 alone, has set a flag there. By lock_all, and by shared locks of two ranks.
 *
 * ranks: 2 3 4 5 6 7 8
 * peers: none, fairness is not the standard's */
#include "check.h"

/* Longest that the writer may wait for each of the others, whose epochs take a little more than 1 ms. */
#define MOST_SECONDS 0.5

static void work(void)
{
    double end = MPI_Wtime() + 0.001;
    while (MPI_Wtime() < end)
        ;
}

static void read_with_all(long *flag, MPI_Win win)
{
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Get(flag, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
    OK(MPI_Win_flush_all(win));
    work();
    OK(MPI_Win_unlock_all(win));
}

static void read_with_two(long *flag, MPI_Win win)
{
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    OK(MPI_Get(flag, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
    OK(MPI_Win_flush(1, win));
    work();
    OK(MPI_Win_unlock(1, win));
    OK(MPI_Win_unlock(0, win));
}

static void check(const char *what, void (*read)(long *, MPI_Win), int created)
{
    long *memory, own = 0, flag = 0, one = 1;
    MPI_Win win;
    if (created) {
        memory = &own;
        OK(MPI_Win_create(memory, sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    } else {
        OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        *memory = 0;
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == check_size - 1) {
        double begun = MPI_Wtime();
        while (MPI_Wtime() < begun + 0.02)
            ;
        begun = MPI_Wtime();
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        OK(MPI_Put(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
        OK(MPI_Win_unlock(1, win));
        double waited = MPI_Wtime() - begun;
        if (waited > MOST_SECONDS * (check_size - 1))
            CHECK_SAY("the writer has waited for %.3f s behind %s", waited, what);
    } else {
        double limit = MPI_Wtime() + 20;
        while (flag == 0 && MPI_Wtime() < limit)
            read(&flag, win);
        if (flag == 0)
            CHECK_SAY("the writer waits behind %s without end", what);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int created = 0; created < 2; created++) {
        check("lock_all", read_with_all, created);
        check("shared locks of two ranks", read_with_two, created);
    }
    return check_end();
}
