/* Examples 11.4 and 11.5 of the chapter: start, put, complete against a target that posts late; lock, put, unlock.
 *
 * ranks: 2 4
 * memcheck: yes */
#include "check.h"

int main(int argc, char **argv)
{
    int *memory, value;
    MPI_Win win;
    MPI_Group all, group;
    check_begin(&argc, &argv);
    int pair = check_rank ^ 1;
    OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &pair, &group));
    *memory = -1;
    if (check_rank % 2 == 0) {
        value = 40 + check_rank;
        OK(MPI_Win_start(group, 0, win));
        OK(MPI_Put(&value, 1, MPI_INT, pair, 0, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
    } else {
        usleep(30000);
        CHECK_EQ(*memory, -1);
        OK(MPI_Win_post(group, 0, win));
        OK(MPI_Win_wait(win));
        CHECK_EQ(*memory, 40 + pair);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    value = 50 + check_rank;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, pair, 0, win));
    OK(MPI_Put(&value, 1, MPI_INT, pair, 0, 1, MPI_INT, win));
    OK(MPI_Win_unlock(pair, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    CHECK_EQ(*memory, 50 + pair);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&all));
    OK(MPI_Win_free(&win));
    return check_end();
}
