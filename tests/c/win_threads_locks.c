/* Threads of a rank that lock different targets, and windows of their own, at once.
 *
 * ranks: 2 4 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 40 };

static MPI_Win wins[THREADS];

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        int to = (check_rank + round + me) % check_size;
        long value = -1;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, wins[me]));
        OK(MPI_Get(&value, 1, MPI_LONG, to, 0, 1, MPI_LONG, wins[me]));
        OK(MPI_Win_flush(to, wins[me]));
        value++;
        OK(MPI_Put(&value, 1, MPI_LONG, to, 0, 1, MPI_LONG, wins[me]));
        OK(MPI_Win_unlock(to, wins[me]));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long *memory[THREADS], sum = 0, all = 0;
    check_begin_threads(&argc, &argv);
    for (int i = 0; i < THREADS; i++) {
        OK(MPI_Win_allocate(sizeof **memory, sizeof **memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i], &wins[i]));
        *memory[i] = 0;
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < THREADS; i++) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, wins[i]));
        sum += *memory[i];
        OK(MPI_Win_unlock(check_rank, wins[i]));
    }
    OK(MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(all, (long)check_size * THREADS * ROUNDS);
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Win_free(&wins[i]));
    return check_end();
}
