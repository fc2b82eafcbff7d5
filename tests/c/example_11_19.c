/* Example 11.19 of the chapter: Peterson's algorithm for two processes. X and T are at the first, Y at the second; in the
 * critical region a number is changed by get and put.
 *
 * ranks: 2 */
#include "check.h"

enum { ROUNDS = 30, FLAG = 0, TURN = 1, SHARED = 2 };

static MPI_Win win;

static int read_word(int rank, int word)
{
    int value = -1, unused = 0;
    MPI_Get_accumulate(&unused, 1, MPI_INT, &value, 1, MPI_INT, rank, word, 1, MPI_INT, MPI_NO_OP, win);
    MPI_Win_flush(rank, win);
    return value;
}

static void write_word(int rank, int word, int value)
{
    OK(MPI_Accumulate(&value, 1, MPI_INT, rank, word, 1, MPI_INT, MPI_REPLACE, win));
    OK(MPI_Win_flush(rank, win));
}

int main(int argc, char **argv)
{
    int *memory;
    check_begin(&argc, &argv);
    int other = 1 - check_rank;
    OK(MPI_Win_allocate(3 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_lock_all(0, win));
    memset(memory, 0, 3 * sizeof *memory);
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        write_word(check_rank, FLAG, 1);
        write_word(0, TURN, other);
        DOING("waiting for the critical region");
        while (read_word(other, FLAG) == 1 && read_word(0, TURN) == other)
            ;
        int value = -1;
        OK(MPI_Get(&value, 1, MPI_INT, 0, SHARED, 1, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        value++;
        OK(MPI_Put(&value, 1, MPI_INT, 0, SHARED, 1, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        write_word(check_rank, FLAG, 0);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQ(read_word(0, SHARED), 2 * ROUNDS);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return check_end();
}
