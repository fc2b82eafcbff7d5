/* A thread that waits in a message to or from its own rank is woken by the call of another thread, also when that call has
 * nothing to wait for itself and its thread calls nothing afterwards.
 *
 * ranks: 1 2 */
#include "check.h"

#include <pthread.h>
#include <time.h>

enum { ROUNDS = 12 };

static void *receive(void *argument)
{
    int *value = argument;
    OK(MPI_Recv(value, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return NULL;
}

static void *send(void *argument)
{
    OK(MPI_Ssend(argument, 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD));
    return NULL;
}

/* A standard send may wait for the receive, so the thread that probes receives as well. */
static void *probe(void *argument)
{
    int *value = argument;
    OK(MPI_Probe(check_rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(value, 1, MPI_INT, check_rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return NULL;
}

/* Starts a thread, and gives it the time to fall asleep. */
static pthread_t start(void *(*work)(void *), void *argument)
{
    const struct timespec while_it_sleeps = {0, 5000000};
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, work, argument), 0);
    nanosleep(&while_it_sleeps, NULL);
    return thread;
}

int main(int argc, char **argv)
{
    check_begin_threads(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        int there = -1, back = -1;
        pthread_t thread = start(receive, &there);
        OK(MPI_Send(&round, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD));
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(there, round);

        thread = start(send, &there);
        OK(MPI_Recv(&back, 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(back, round);

        there = -1;
        thread = start(probe, &there);
        OK(MPI_Send(&round, 1, MPI_INT, check_rank, 3, MPI_COMM_WORLD));
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(there, round);
    }
    return check_end();
}
