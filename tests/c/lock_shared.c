/* Shared locks are held together: all ranks hold one while they meet in a barrier; an exclusive one comes in between, and
 * a reader never sees half of what its holder wrote.
 *
 * ranks: 2 4 8 */
#include "check.h"

enum { ROUNDS = 30, WORDS = 50 };

int main(int argc, char **argv)
{
    int *memory, words[WORDS];
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win));
    memset(memory, 0, WORDS * sizeof *memory);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));

    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Get(words, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    OK(MPI_Win_flush(0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_unlock(0, win));

    for (int i = 0; i < ROUNDS; i++) {
        if (check_rank == 1) {
            for (int k = 0; k < WORDS; k++)
                words[k] = i + 1;
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            OK(MPI_Put(words, WORDS / 2, MPI_INT, 0, 0, WORDS / 2, MPI_INT, win));
            OK(MPI_Win_flush(0, win));
            OK(MPI_Put(words, WORDS - WORDS / 2, MPI_INT, 0, WORDS / 2, WORDS - WORDS / 2, MPI_INT, win));
            OK(MPI_Win_unlock(0, win));
        } else {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            OK(MPI_Get(words, WORDS, MPI_INT, 0, 0, WORDS, MPI_INT, win));
            OK(MPI_Win_unlock(0, win));
            for (int k = 1; k < WORDS; k++)
                CHECK_AT(words, k, words[0]);
            CHECK(words[0] >= 0 && words[0] <= ROUNDS);
        }
    }
    OK(MPI_Win_free(&win));
    return check_end();
}
