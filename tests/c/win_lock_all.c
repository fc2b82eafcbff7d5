/* Every operation between lock_all and unlock_all.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "operations.h"

static void begin(MPI_Win win, int target)
{
    (void)target;
    OK(MPI_Win_lock_all(0, win));
}

static void unchecked(MPI_Win win, int target)
{
    (void)target;
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
}

static void end(MPI_Win win, int target)
{
    (void)target;
    OK(MPI_Win_unlock_all(win));
}

int main(int argc, char **argv)
{
    static const struct kind checked = {"lock_all", begin, end, own_lock, own_unlock, NULL, NULL};
    static const struct kind nocheck = {"lock_all without check", unchecked, end, own_lock, own_unlock, NULL, NULL};
    check_begin(&argc, &argv);
    operations(&checked);
    operations(&nocheck);
    return check_end();
}
