/* Post and start that assert they know of each other, after a barrier; exposure and access of one rank at the same time.
 *
 * ranks: 2 4 8
 * peers: not openmpi, whose 4.1 waits for ever here */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Group all, right_group, left_group;
    MPI_Win win;
    int *memory, value, got;
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &right, &right_group));
    OK(MPI_Group_incl(all, 1, &left, &left_group));
    for (int round = 0; round < 20; round++) {
        value = round * 10 + check_rank, got = -1;
        memory[0] = -1;
        memory[1] = round * 1000 + check_rank;
        OK(MPI_Win_post(left_group, MPI_MODE_NOCHECK, win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_start(right_group, MPI_MODE_NOCHECK, win));
        OK(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win));
        OK(MPI_Get(&got, 1, MPI_INT, right, 1, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        CHECK_EQ(memory[0], round * 10 + left);
        CHECK_EQ(got, round * 1000 + right);
    }
    OK(MPI_Group_free(&right_group));
    OK(MPI_Group_free(&left_group));
    OK(MPI_Group_free(&all));
    OK(MPI_Win_free(&win));
    return check_end();
}
