/* What was flushed is there: the target is told by a message and looks at once; a third rank gets it at once.
 *
 * ranks: 2 3 8 */
#include "check.h"

enum { ROUNDS = 60 };

int main(int argc, char **argv)
{
    int *memory, got = -1, token = 0;
    MPI_Win win;
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memory[0] = memory[1] = -1;
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* A token goes round; its holder puts to the right and flushes before passing it on; the next one checks its own memory
     * and that of the one before the last. */
    for (int round = 0; round < ROUNDS; round++)
        for (int turn = 0; turn < check_size; turn++) {
            if (turn != check_rank)
                continue;
            if (round > 0 || check_rank > 0) {
                OK(MPI_Recv(&token, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                OK(MPI_Win_sync(win));
                CHECK_EQ(memory[0], token);
                OK(MPI_Get(&got, 1, MPI_INT, left, 0, 1, MPI_INT, win));
                OK(MPI_Win_flush(left, win));
                if (round > 0 && check_size > 2)
                    CHECK_EQ(got, token - 1);
            }
            token++;
            OK(MPI_Put(&token, 1, MPI_INT, right, 0, 1, MPI_INT, win));
            OK(MPI_Win_flush(right, win));
            if (round < ROUNDS - 1 || check_rank < check_size - 1)
                OK(MPI_Send(&token, 1, MPI_INT, right, 0, MPI_COMM_WORLD));
        }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return check_end();
}
