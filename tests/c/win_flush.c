/* Every operation between two flushes of one long lock, of each kind; the memory is looked at after MPI_Win_sync.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "operations.h"

static void lock_each(MPI_Win win)
{
    for (int rank = 0; rank < check_size; rank++)
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
}

static void unlock_each(MPI_Win win)
{
    for (int rank = 0; rank < check_size; rank++)
        OK(MPI_Win_unlock(rank, win));
}

static void lock_all(MPI_Win win)
{
    OK(MPI_Win_lock_all(0, win));
}

static void unlock_all(MPI_Win win)
{
    OK(MPI_Win_unlock_all(win));
}

static void synchronized(MPI_Win win)
{
    OK(MPI_Win_sync(win));
}

static void nothing_to_begin(MPI_Win win, int target)
{
    (void)win;
    (void)target;
}

static void flush(MPI_Win win, int target)
{
    OK(MPI_Win_flush(target, win));
}

static void flush_all(MPI_Win win, int target)
{
    (void)target;
    OK(MPI_Win_flush_all(win));
}

static void flush_twice(MPI_Win win, int target)
{
    OK(MPI_Win_flush_local(target, win));
    OK(MPI_Win_flush_local_all(win));
    OK(MPI_Win_flush(target, win));
}

int main(int argc, char **argv)
{
    static const struct kind kinds[] = {
        {"lock_all, flush", nothing_to_begin, flush, synchronized, synchronized, lock_all, unlock_all},
        {"lock_all, flush_all", nothing_to_begin, flush_all, synchronized, synchronized, lock_all, unlock_all},
        {"locks, flush", nothing_to_begin, flush, synchronized, synchronized, lock_each, unlock_each},
        {"locks, flush_local, flush", nothing_to_begin, flush_twice, synchronized, synchronized, lock_each, unlock_each},
    };
    check_begin(&argc, &argv);
    for (int k = 0; k < 4; k++)
        operations(&kinds[k]);
    return check_end();
}
