/* Every operation between lock and unlock, exclusive and shared.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "operations.h"

static void exclusive(MPI_Win win, int target)
{
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
}

static void shared(MPI_Win win, int target)
{
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
}

static void end(MPI_Win win, int target)
{
    OK(MPI_Win_unlock(target, win));
}

int main(int argc, char **argv)
{
    static const struct kind kinds[] = {
        {"exclusive lock", exclusive, end, own_lock, own_unlock, NULL, NULL},
        {"shared lock", shared, end, own_lock, own_unlock, NULL, NULL},
    };
    check_begin(&argc, &argv);
    for (int k = 0; k < 2; k++)
        operations(&kinds[k]);
    return check_end();
}
