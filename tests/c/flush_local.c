/* After flush_local the origin's buffer is the program's again: it is overwritten at once, and the old contents arrive.
 *
 * ranks: 1 2 4
 * memcheck: yes */
#include "check.h"

enum { WORDS = 30000, ROUNDS = 6 };

int main(int argc, char **argv)
{
    int *memory, *out = malloc(WORDS * sizeof *out);
    MPI_Win win;
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_allocate((MPI_Aint)ROUNDS * WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                        &win));
    OK(MPI_Win_lock_all(0, win));
    memset(memory, 0, (size_t)ROUNDS * WORDS * sizeof *memory);
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        int count = round % 2 ? WORDS : 1 + round;
        for (int i = 0; i < count; i++)
            out[i] = check_rank * 1000000 + round * 100000 + i;
        if (round < 4)
            OK(MPI_Put(out, count, MPI_INT, right, round * WORDS, count, MPI_INT, win));
        else
            OK(MPI_Accumulate(out, count, MPI_INT, right, round * WORDS, count, MPI_INT, MPI_SUM, win));
        if (round % 3 == 0)
            OK(MPI_Win_flush_local(right, win));
        else
            OK(MPI_Win_flush_local_all(win));
        memset(out, -1, WORDS * sizeof *out);
    }
    OK(MPI_Win_flush_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_sync(win));
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < WORDS; i++)
            CHECK_AT(memory, round * WORDS + i, i < (round % 2 ? WORDS : 1 + round) ? left * 1000000 + round * 100000 + i : 0);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    free(out);
    return check_end();
}
