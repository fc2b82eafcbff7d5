/* MPI_PROC_NULL as a target, in every call and in every kind of epoch: nothing happens, and no epoch to it is needed.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: not openmpi, which takes it for a wrong rank in a lock */
#include "check.h"

static int value = 1, result = 2, compare = 3;

static void calls(MPI_Win win)
{
    OK(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 5, 1, MPI_INT, win));
    OK(MPI_Get(&result, 1, MPI_INT, MPI_PROC_NULL, 1 << 30, 1, MPI_INT, win));
    OK(MPI_Accumulate(&value, 1, MPI_INT, MPI_PROC_NULL, 5, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Get_accumulate(&value, 1, MPI_INT, &result, 1, MPI_INT, MPI_PROC_NULL, 5, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Fetch_and_op(&value, &result, MPI_INT, MPI_PROC_NULL, 5, MPI_SUM, win));
    OK(MPI_Compare_and_swap(&value, &compare, &result, MPI_INT, MPI_PROC_NULL, 5, win));
    OK(MPI_Put(NULL, 1, MPI_INT, MPI_PROC_NULL, 5, 1, MPI_INT, win));
    OK(MPI_Get(NULL, 1, MPI_INT, MPI_PROC_NULL, -5, 1, MPI_INT, win));
    OK(MPI_Accumulate(NULL, 1, MPI_INT, MPI_PROC_NULL, 5, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Get_accumulate(NULL, 1, MPI_INT, NULL, 1, MPI_INT, MPI_PROC_NULL, 5, 1, MPI_INT, MPI_SUM, win));
}

int main(int argc, char **argv)
{
    MPI_Win win;
    int *memory;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    *memory = 9;
    OK(MPI_Win_fence(0, win));
    calls(win);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, win));
    calls(win);
    OK(MPI_Win_flush(MPI_PROC_NULL, win));
    OK(MPI_Win_flush_local(MPI_PROC_NULL, win));
    OK(MPI_Win_unlock(MPI_PROC_NULL, win));
    OK(MPI_Win_lock_all(0, win));
    calls(win);
    OK(MPI_Win_flush(MPI_PROC_NULL, win));
    OK(MPI_Win_unlock_all(win));
    CHECK_EQ(*memory, 9);
    CHECK_EQ(result, 2);
    OK(MPI_Win_free(&win));
    return check_end();
}
