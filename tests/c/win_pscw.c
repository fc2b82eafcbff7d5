/* Every operation between start and complete, while the target is between post and wait.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "operations.h"

static MPI_Group of(MPI_Win win, int rank)
{
    MPI_Group all, one;
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &rank, &one));
    OK(MPI_Group_free(&all));
    return one;
}

static void begin(MPI_Win win, int target)
{
    MPI_Group origins = of(win, (check_rank + check_size - 1) % check_size), targets = of(win, target);
    OK(MPI_Win_post(origins, 0, win));
    OK(MPI_Win_start(targets, 0, win));
    OK(MPI_Group_free(&origins));
    OK(MPI_Group_free(&targets));
}

static void end(MPI_Win win, int target)
{
    (void)target;
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
}

static void end_by_test(MPI_Win win, int target)
{
    int flag = 0;
    (void)target;
    OK(MPI_Win_complete(win));
    DOING("MPI_Win_test until it says yes");
    while (!flag)
        if (MPI_Win_test(win, &flag) != MPI_SUCCESS) {
            CHECK(!"MPI_Win_test succeeds");
            break;
        }
}

int main(int argc, char **argv)
{
    static const struct kind waits = {"post, start, complete, wait", begin, end, own_nothing, own_nothing, NULL, NULL};
    static const struct kind tests = {"post, start, complete, test", begin, end_by_test, own_nothing, own_nothing, NULL, NULL};
    check_begin(&argc, &argv);
    operations(&waits);
    operations(&tests);
    return check_end();
}
