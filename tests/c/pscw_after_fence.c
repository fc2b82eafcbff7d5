/* Kinds of epochs one after another on one window, with some ranks ahead of the others: a late fence, post or lock of one
 * epoch may not be taken for that of the next.
 *
 * ranks: 2 4 8
 * memcheck: yes */
#include "check.h"

enum { ROUNDS = 20 };

int main(int argc, char **argv)
{
    MPI_Group all, right_group, left_group;
    MPI_Win win;
    int *memory, value;
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_allocate(3 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memory[0] = memory[1] = memory[2] = -1;
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &right, &right_group));
    OK(MPI_Group_incl(all, 1, &left, &left_group));
    for (int round = 0; round < ROUNDS; round++) {
        if (check_rank == round % check_size)
            usleep(1000);
        value = round * 10 + check_rank;
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        OK(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        CHECK_EQ(memory[0], round * 10 + left);
        OK(MPI_Win_post(left_group, 0, win));
        OK(MPI_Win_start(right_group, 0, win));
        OK(MPI_Put(&value, 1, MPI_INT, right, 1, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        CHECK_EQ(memory[1], round * 10 + left);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
        OK(MPI_Put(&value, 1, MPI_INT, right, 2, 1, MPI_INT, win));
        OK(MPI_Win_unlock(right, win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
        CHECK_EQ(memory[2], round * 10 + left);
        OK(MPI_Win_unlock(check_rank, win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Group_free(&right_group));
    OK(MPI_Group_free(&left_group));
    OK(MPI_Group_free(&all));
    OK(MPI_Win_free(&win));
    return check_end();
}
