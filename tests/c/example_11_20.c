/* Example 11.20 of the chapter: a critical region of many processes by compare and swap.
 *
 * ranks: 1 2 4
 * memcheck: yes */
#include "check.h"

enum { ROUNDS = 10 };

int main(int argc, char **argv)
{
    int *memory, zero = 0, one = 1, r, value = -1;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_lock_all(0, win));
    memory[0] = memory[1] = 0;
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        DOING("swapping until the lock was free");
        do {
            MPI_Compare_and_swap(&one, &zero, &r, MPI_INT, 0, 0, win);
            MPI_Win_flush(0, win);
        } while (r != 0);
        OK(MPI_Get(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        value++;
        OK(MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        OK(MPI_Compare_and_swap(&zero, &one, &r, MPI_INT, 0, 0, win));
        OK(MPI_Win_flush(0, win));
        CHECK_EQ(r, 1);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Get(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win));
    OK(MPI_Win_unlock_all(win));
    CHECK_EQ(value, ROUNDS * check_size);
    OK(MPI_Win_free(&win));
    return check_end();
}
