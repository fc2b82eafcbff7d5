/* Example 11.21 of the chapter: loads and stores in a window of shared memory, ordered by messages and MPI_Win_sync.
 *
 * ranks: 2
 * nodes: one */
#include "check.h"

enum { ROUNDS = 200 };

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Comm node;
    volatile int *x;
    int *mine, *first, unit, size;
    MPI_Aint bytes;
    check_begin(&argc, &argv);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &size));
    OK(MPI_Win_allocate_shared(check_rank == 0 ? sizeof *mine : 0, sizeof *mine, MPI_INFO_NULL, node, &mine, &win));
    OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &first));
    CHECK_EQ(bytes, sizeof *mine);
    CHECK_EQ(unit, sizeof *mine);
    x = first;
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (int round = 0; size == 2 && round < ROUNDS; round++) {
        if (check_rank == 0) {
            *x = round;
            OK(MPI_Win_sync(win));
            OK(MPI_Send(NULL, 0, MPI_INT, 1, 0, node));
            OK(MPI_Recv(NULL, 0, MPI_INT, 1, 0, node, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Recv(NULL, 0, MPI_INT, 0, 0, node, MPI_STATUS_IGNORE));
            OK(MPI_Win_sync(win));
            CHECK_EQ(*x, round);
            OK(MPI_Send(NULL, 0, MPI_INT, 0, 0, node));
        }
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&node));
    return check_end();
}
