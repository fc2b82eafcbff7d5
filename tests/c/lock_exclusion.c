/* An exclusive lock excludes all others: a counter in the window that is read, changed and written in separate steps counts
 * right, whether the owner loads and stores or others get and put.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

enum { ROUNDS = 20 };

int main(int argc, char **argv)
{
    long *memory;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win));
    memory[0] = memory[1] = 0;
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < check_size; k++) {
            int to = (check_rank + k) % check_size;
            long pair[2] = {-1, -1};
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win));
            if (to == check_rank) {
                CHECK_EQ(memory[0], memory[1]);
                memory[0]++;
                memory[1]++;
            } else {
                OK(MPI_Get(pair, 2, MPI_LONG, to, 0, 2, MPI_LONG, win));
                OK(MPI_Win_flush(to, win));
                CHECK_EQ(pair[0], pair[1]);
                pair[0]++;
                pair[1]++;
                OK(MPI_Put(&pair[0], 1, MPI_LONG, to, 0, 1, MPI_LONG, win));
                OK(MPI_Put(&pair[1], 1, MPI_LONG, to, 1, 1, MPI_LONG, win));
            }
            OK(MPI_Win_unlock(to, win));
        }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    CHECK_EQ(memory[0], (long)ROUNDS * check_size);
    CHECK_EQ(memory[1], (long)ROUNDS * check_size);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Win_free(&win));
    return check_end();
}
