/* Every operation between two fences.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "operations.h"

static void begin(MPI_Win win, int target)
{
    (void)target;
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
}

static void end(MPI_Win win, int target)
{
    (void)target;
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

static void plain(MPI_Win win, int target)
{
    (void)target;
    OK(MPI_Win_fence(0, win));
}

int main(int argc, char **argv)
{
    static const struct kind asserted = {"fence with assertions", begin, end, own_nothing, own_nothing, NULL, NULL};
    static const struct kind without = {"fence", plain, plain, own_nothing, own_nothing, NULL, NULL};
    check_begin(&argc, &argv);
    operations(&asserted);
    operations(&without);
    return check_end();
}
