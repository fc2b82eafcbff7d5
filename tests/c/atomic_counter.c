/* All ranks add to counters of all at once: nothing is lost, and every ticket is drawn once.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

enum { ROUNDS = 60, MOST = 8 * ROUNDS };

int main(int argc, char **argv)
{
    long *memory, one = 1, tickets[ROUNDS], all[MOST], seen[MOST] = {0};
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(3 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win));
    memory[0] = memory[1] = memory[2] = 0;
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < ROUNDS; i++) {
        OK(MPI_Fetch_and_op(&one, &tickets[i], MPI_LONG, 0, 0, MPI_SUM, win));
        if (i % 3 == 0)
            OK(MPI_Win_flush(0, win));
        for (int to = 0; to < check_size; to++)
            OK(MPI_Accumulate(&one, 1, MPI_LONG, to, 1, 1, MPI_LONG, MPI_SUM, win));
        long before;
        OK(MPI_Get_accumulate(&one, 1, MPI_LONG, &before, 1, MPI_LONG, i % check_size, 2, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_flush(i % check_size, win));
        CHECK(before >= 0 && before < (long)ROUNDS * check_size);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    CHECK_EQ(memory[0], check_rank == 0 ? (long)ROUNDS * check_size : 0);
    CHECK_EQ(memory[1], (long)ROUNDS * check_size);
    CHECK_EQ(memory[2], (long)check_size * ((ROUNDS - check_rank + check_size - 1) / check_size));
    OK(MPI_Win_unlock(check_rank, win));

    OK(MPI_Allgather(tickets, ROUNDS, MPI_LONG, all, ROUNDS, MPI_LONG, MPI_COMM_WORLD));
    for (int i = 0; i < ROUNDS * check_size; i++) {
        CHECK(all[i] >= 0 && all[i] < (long)ROUNDS * check_size);
        if (all[i] >= 0 && all[i] < (long)ROUNDS * check_size)
            seen[all[i]]++;
        /* One rank's tickets grow: its operations on one place keep their order. */
        if (i % ROUNDS > 0)
            CHECK(all[i] > all[i - 1]);
    }
    for (int i = 0; i < ROUNDS * check_size; i++)
        CHECK_AT(seen, i, 1);
    OK(MPI_Win_free(&win));
    return check_end();
}
