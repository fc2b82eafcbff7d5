/* Two ranks hold lock_all and read from two targets in opposite order, while two others lock one target each exclusively:
 * no rank may wait for ever, and each holder's two puts are seen together or not at all.
 *
 * ranks: 4 8 */
#include "check.h"

enum { ROUNDS = 40 };

int main(int argc, char **argv)
{
    int *memory, pair[2] = {0, 0};
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memory[0] = memory[1] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < ROUNDS; i++) {
        int role = check_rank % 4;
        if (role < 2) {
            OK(MPI_Win_lock_all(0, win));
            for (int k = 0; k < 2; k++) {
                int to = 2 + (role + k) % 2;
                OK(MPI_Get(pair, 2, MPI_INT, to, 0, 2, MPI_INT, win));
                OK(MPI_Win_flush(to, win));
                CHECK_EQ(pair[0], pair[1]);
            }
            OK(MPI_Win_unlock_all(win));
        } else {
            int value[2] = {i * 10 + check_rank, i * 10 + check_rank};
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, role, 0, win));
            OK(MPI_Put(&value[0], 1, MPI_INT, role, 0, 1, MPI_INT, win));
            OK(MPI_Win_flush(role, win));
            OK(MPI_Put(&value[1], 1, MPI_INT, role, 1, 1, MPI_INT, win));
            OK(MPI_Win_unlock(role, win));
        }
    }
    OK(MPI_Win_free(&win));
    return check_end();
}
