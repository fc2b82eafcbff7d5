/* Four threads of every rank put, get, add and flush at once under one lock_all, each on words of its own and on one that all
 * share.
 *
 * ranks: 1 2 4 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 60, EACH = 16 };

static MPI_Win win;

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument, right = (check_rank + 1) % check_size;
    long one = 1, out[EACH], in[EACH];
    /* Word 0 is shared by all; rank r's thread t has its words at the right neighbour. */
    MPI_Aint mine = 1 + (MPI_Aint)me * EACH;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < EACH; i++)
            out[i] = ((long)check_rank * THREADS + me) * 100000 + round * 100 + i, in[i] = -1;
        OK(MPI_Put(out, EACH, MPI_LONG, right, mine, EACH, MPI_LONG, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_flush(right, win));
        OK(MPI_Get(in, EACH, MPI_LONG, right, mine, EACH, MPI_LONG, win));
        if (round % 2)
            OK(MPI_Win_flush_all(win));
        else
            OK(MPI_Win_flush_local(right, win));
        for (int i = 0; i < EACH; i++)
            CHECK_AT(in, i, out[i]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long *memory;
    check_begin_threads(&argc, &argv);
    OK(MPI_Win_allocate((1 + THREADS * EACH) * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memory[0] = 0;
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    if (check_rank == 0)
        CHECK_EQ(memory[0], (long)check_size * THREADS * ROUNDS);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Win_free(&win));
    return check_end();
}
