/* Threads of a rank that create, use and free windows, and duplicate, split and free communicators, at once, each on communicators of
 * its own, in an order that differs from rank to rank; and threads with duplicates of MPI_COMM_SELF, which need no other rank.
 *
 * ranks: 1 2 3 4
 * peers: not mpich-abi, whose 5.0 may end by a signal or an assertion when threads free windows at once
 * peers: not mpich-abi-guest, the same
 * peers: not newest-mpich-guest, the same
 * peers: not newest-openmpi-guest, whose 5.0 does not end when threads make windows at once
 * peers: not openmpi-guest, whose 4.1 does not end, or ends with a signal, when threads split communicators */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 25 };

static MPI_Comm comms[THREADS], selves[THREADS];

/* A window that each rank writes its successor's part of. */
static void use(MPI_Comm comm, int round)
{
    int rank, size;
    long *memory = NULL, own, value;
    MPI_Win win = MPI_WIN_NULL;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    value = rank + 10 * round;
    switch (round % 3) {
    case 0:
        OK(MPI_Win_allocate(sizeof own, sizeof own, MPI_INFO_NULL, comm, &memory, &win));
        break;
    case 1:
        memory = &own;
        OK(MPI_Win_create(memory, sizeof own, sizeof own, MPI_INFO_NULL, comm, &win));
        break;
    default:
        OK(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win));
        OK(MPI_Win_free(&win));
        return;
    }
    *memory = -1;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(*memory, (rank + size - 1) % size + 10 * round);
    OK(MPI_Win_free(&win));
}

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm twin, part, later;
        MPI_Request request;
        OK(MPI_Comm_dup(comms[me], &twin));
        /* The same thread of another rank meets the two in this order, other threads of either rank do in any. */
        use(twin, round);
        use(selves[me], round);
        use(comms[me], round);
        OK(MPI_Comm_idup(twin, &later, &request));
        OK(MPI_Comm_split(twin, check_rank % 2, 0, &part));
        use(part, round);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Comm_free(&part));
        use(later, round);
        OK(MPI_Comm_free(&later));
        OK(MPI_Comm_free(&twin));
    }
    return NULL;
}

/* A thread with a duplicate of MPI_COMM_SELF alone. */
static void *alone(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int round = 0; round < 10 * ROUNDS; round++)
        use(selves[me], round);
    return NULL;
}

static void run(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    /* The ranks start their threads in different orders. */
    for (int i = 0; i < THREADS; i++) {
        int which = (i + check_rank) % THREADS;
        CHECK_EQ(pthread_create(&threads[which], NULL, body, (void *)(intptr_t)which), 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

int main(int argc, char **argv)
{
    check_begin_threads(&argc, &argv);
    for (int i = 0; i < THREADS; i++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
        OK(MPI_Comm_dup(MPI_COMM_SELF, &selves[i]));
    }
    run(alone);
    run(work);
    for (int i = 0; i < THREADS; i++) {
        OK(MPI_Comm_free(&comms[i]));
        OK(MPI_Comm_free(&selves[i]));
    }
    return check_end();
}
