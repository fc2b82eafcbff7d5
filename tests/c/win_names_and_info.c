/* Names and hints of windows: hints never change what a window does.
 *
 * ranks: 1 2
 * memcheck: yes */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Info info, used;
    char name[MPI_MAX_OBJECT_NAME], value[MPI_MAX_INFO_VAL + 1];
    int length = -1, flag, *base, one = 1;
    check_begin(&argc, &argv);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "accumulate_ordering", "none"));
    OK(MPI_Info_set(info, "same_size", "true"));
    OK(MPI_Info_set(info, "no such hint", "whatever"));
    OK(MPI_Win_allocate(sizeof *base, sizeof *base, info, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_get_name(win, name, &length));
    CHECK_EQ(length, strlen(name));
    OK(MPI_Win_set_name(win, "a window"));
    OK(MPI_Win_get_name(win, name, &length));
    CHECK_TEXT(name, "a window");
    CHECK_EQ(length, 8);
    OK(MPI_Win_set_info(win, info));
    OK(MPI_Win_get_info(win, &used));
    OK(MPI_Info_get(used, "no_locks", MPI_MAX_INFO_VAL, value, &flag));
    if (flag)
        CHECK_TEXT(value, "false");
    OK(MPI_Info_free(&used));
    OK(MPI_Info_free(&info));

    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win));
    *base = 0;
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    CHECK_EQ(*base, check_rank == 0 ? check_size : 0);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Win_free(&win));
    return check_end();
}
