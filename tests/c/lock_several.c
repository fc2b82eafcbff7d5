/* Locks of several targets at once, in the order of ranks, with operations to all before any is given back; and again
 * after they were.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

enum { ROUNDS = 8 };

int main(int argc, char **argv)
{
    int *memory, one = 1;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memory[0] = memory[1] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        for (int to = 0; to < check_size; to++)
            OK(MPI_Win_lock(to % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, to, 0, win));
        for (int k = 0; k < 3; k++)
            for (int to = check_size - 1; to >= 0; to--)
                OK(MPI_Accumulate(&one, 1, MPI_INT, to, k % 2, 1, MPI_INT, MPI_SUM, win));
        OK(MPI_Win_flush_all(win));
        for (int to = 0; to < check_size; to++)
            OK(MPI_Win_unlock(check_size - 1 - to, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    CHECK_EQ(memory[0], 2 * ROUNDS * check_size);
    CHECK_EQ(memory[1], ROUNDS * check_size);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Win_free(&win));
    return check_end();
}
