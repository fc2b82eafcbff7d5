/* Every operation under locks that the program asserts to be free of conflicts.
 *
 * ranks: 1 2 4 8
 * peers: not mpich on 1, whose 4.0 then waits for ever for a lock of its own */
#include "operations.h"

static void unchecked(MPI_Win win, int target)
{
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, MPI_MODE_NOCHECK, win));
}

static void end(MPI_Win win, int target)
{
    OK(MPI_Win_unlock(target, win));
}

int main(int argc, char **argv)
{
    static const struct kind kind = {"lock without check", unchecked, end, own_lock, own_unlock, NULL, NULL};
    check_begin(&argc, &argv);
    operations(&kind);
    return check_end();
}
