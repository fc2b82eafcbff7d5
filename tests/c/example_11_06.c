/* Examples 11.6 to 11.10 of the chapter, the variants that must show the new value: local stores read by others, remote puts
 * loaded locally, under locks, or with MPI_Win_sync where the text asks for it.
 *
 * ranks: 2 4
 * memcheck: yes */
#include "check.h"

enum { ROUNDS = 30 };

int main(int argc, char **argv)
{
    volatile int *x;
    int *memory, got, value;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    x = memory;
    /* The last rank is B, all others are A. */
    int b = check_size - 1, is_b = check_rank == b;
    for (int round = 0; round < ROUNDS; round++) {
        /* 11.6: a store under the own lock, then a get by the others. */
        if (is_b) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, b, 0, win));
            *x = round + 1;
            OK(MPI_Win_unlock(b, win));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (!is_b) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, b, 0, win));
            OK(MPI_Get(&got, 1, MPI_INT, b, 0, 1, MPI_INT, win));
            OK(MPI_Win_unlock(b, win));
            CHECK_EQ(got, round + 1);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));

        /* 11.8: a put, then a load under the own lock. */
        value = 1000 + round;
        if (check_rank == 0) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, b, 0, win));
            OK(MPI_Put(&value, 1, MPI_INT, b, 0, 1, MPI_INT, win));
            OK(MPI_Win_unlock(b, win));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (is_b) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, b, 0, win));
            CHECK_EQ(*x, 1000 + round);
            OK(MPI_Win_unlock(b, win));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));

        /* 11.7 and 11.10 with the MPI_Win_sync that the text asks for. */
        OK(MPI_Win_lock_all(0, win));
        if (is_b) {
            *x = 2000 + round;
            OK(MPI_Win_sync(win));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (!is_b) {
            OK(MPI_Get(&got, 1, MPI_INT, b, 0, 1, MPI_INT, win));
            OK(MPI_Win_flush_local(b, win));
            CHECK_EQ(got, 2000 + round);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));

        /* 11.9: a put and a flush, then a load after the sync. */
        value = 3000 + round;
        if (check_rank == 0) {
            OK(MPI_Put(&value, 1, MPI_INT, b, 0, 1, MPI_INT, win));
            OK(MPI_Win_flush(b, win));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_sync(win));
        if (is_b)
            CHECK_EQ(*x, 3000 + round);
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Win_free(&win));
    return check_end();
}
