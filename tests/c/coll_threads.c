/* Threads of a rank run collectives at once, each on a communicator of its own.
 *
 * ranks: 2 4 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 60 };

static MPI_Comm comms[THREADS];

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        int value = check_rank + me * 10 + round, sum = -1;
        OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comms[me]));
        CHECK_EQ(sum, check_size * (check_size - 1) / 2 + check_size * (me * 10 + round));
        OK(MPI_Barrier(comms[me]));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    check_begin_threads(&argc, &argv);
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_free(&comms[i]));
    return check_end();
}
