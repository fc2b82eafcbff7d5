/* Examples 11.11 and 11.12 of the chapter with what the standard does promise: a store before MPI_Win_post is seen through the
 * exposure epoch and after it; a put of one's own instead of a store is seen by others; a put under a lock is loaded by its
 * target after its own lock.
 *
 * ranks: 2
 * memcheck: yes */
#include "check.h"

int main(int argc, char **argv)
{
    int *memory, got[2] = {-1, -1}, value = 0, a = 0, b = 1;
    MPI_Win win;
    MPI_Group all, both, only_b, only_a;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_get_group(win, &all));
    int ranks[2] = {a, b};
    OK(MPI_Group_incl(all, 2, ranks, &both));
    OK(MPI_Group_incl(all, 1, &b, &only_b));
    OK(MPI_Group_incl(all, 1, &a, &only_a));
    for (int round = 1; round <= 20; round++) {
        /* X is word 0 and Y word 1 of process A. */
        if (check_rank == a) {
            memory[1] = 10 * round;
            OK(MPI_Win_post(both, 0, win));
            OK(MPI_Win_start(only_a, 0, win));
            value = 20 * round;
            OK(MPI_Put(&value, 1, MPI_INT, a, 0, 1, MPI_INT, win));
            OK(MPI_Win_complete(win));
            OK(MPI_Win_wait(win));
            CHECK_EQ(memory[0], 20 * round);
        } else {
            OK(MPI_Win_start(only_a, 0, win));
            OK(MPI_Get(&got[1], 1, MPI_INT, a, 1, 1, MPI_INT, win));
            OK(MPI_Win_complete(win));
            CHECK_EQ(got[1], 10 * round);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (check_rank == b) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, a, 0, win));
            OK(MPI_Get(&got[0], 1, MPI_INT, a, 0, 1, MPI_INT, win));
            OK(MPI_Get(&got[1], 1, MPI_INT, a, 1, 1, MPI_INT, win));
            OK(MPI_Win_unlock(a, win));
            CHECK_EQ(got[0], 20 * round);
            CHECK_EQ(got[1], 10 * round);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));

        /* 11.12: A puts under a lock; B posts to A, and looks after its own lock. */
        value = 30 * round;
        if (check_rank == a) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, b, 0, win));
            OK(MPI_Put(&value, 1, MPI_INT, b, 0, 1, MPI_INT, win));
            OK(MPI_Win_unlock(b, win));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (check_rank == b) {
            OK(MPI_Win_post(only_a, 0, win));
            OK(MPI_Win_wait(win));
            CHECK_EQ(memory[0], 30 * round);
        } else {
            OK(MPI_Win_start(only_b, 0, win));
            OK(MPI_Win_complete(win));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&both));
    OK(MPI_Group_free(&only_a));
    OK(MPI_Group_free(&only_b));
    OK(MPI_Win_free(&win));
    return check_end();
}
