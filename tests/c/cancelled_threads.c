/* A thread is cancelled before or within calls that wait or send: each ends as it would have, and the cancellation takes effect
 * behind them.
 *
 * ranks: 2
 * memcheck: yes
 * peers: none, MPI_Recv is a cancellation point there
 */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

/* As many as fill several packets. */
enum { GO = 1, VALUE = 2, STORES = 1000 };

static MPI_Win win;
static atomic_int is_cancelled, is_over;
static int value;
static void (*awaited)(void);

/* The waits of rank 0, which rank 1 lets end when it has been told that the thread is cancelled. */

static void receives(void)
{
    OK(MPI_Recv(&value, 1, MPI_INT, 1, VALUE, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* A lock under which nothing is done need not be waited for. */
static void locks(void)
{
    static long got;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    OK(MPI_Get(&got, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(1, win));
}

static void fences(void)
{
    OK(MPI_Win_fence(0, win));
}

/* Calls with requests: none of them waits, but one of some sends. */
static void requests(void)
{
    static MPI_Request requests[STORES];
    static long values[STORES], old[STORES];
    const long one = 1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    for (int i = 0; i < STORES; i++) {
        values[i] = i;
        OK(MPI_Rput(&values[i], 1, MPI_LONG, 1, i, 1, MPI_LONG, win, &requests[i]));
    }
    OK(MPI_Waitall(STORES, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Win_flush(1, win));
    for (int i = 0; i < STORES; i++)
        OK(MPI_Raccumulate(&one, 1, MPI_LONG, 1, i, 1, MPI_LONG, MPI_SUM, win, &requests[i]));
    OK(MPI_Waitall(STORES, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < STORES; i++)
        OK(MPI_Rget_accumulate(&one, 1, MPI_LONG, &old[i], 1, MPI_LONG, 1, i, 1, MPI_LONG, MPI_SUM, win, &requests[i]));
    OK(MPI_Waitall(STORES, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < STORES; i++)
        OK(MPI_Rget(&values[i], 1, MPI_LONG, 1, i, 1, MPI_LONG, win, &requests[i]));
    OK(MPI_Waitall(STORES, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < STORES; i++) {
        CHECK_EQ(old[i], i + 1);
        CHECK_EQ(values[i], i + 2);
    }
    OK(MPI_Win_unlock(1, win));
}

static void *waits(void *unused)
{
    (void)unused;
    /* No cancellation point: the first one that the thread meets behind this ends it. */
    while (awaited == requests && !atomic_load(&is_cancelled))
        ;
    awaited();
    atomic_store(&is_over, 1);
    pthread_testcancel();
    return NULL;
}

static void is_cancelled_behind(void (*wait)(void))
{
    pthread_t thread;
    void *result = NULL;
    atomic_store(&is_over, 0);
    atomic_store(&is_cancelled, 0);
    awaited = wait;
    if (check_rank == 1 && wait == locks)
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0) {
        CHECK_EQ(pthread_create(&thread, NULL, waits, NULL), 0);
        CHECK_EQ(pthread_cancel(thread), 0);
        atomic_store(&is_cancelled, 1);
        OK(MPI_Send(&value, 1, MPI_INT, 1, GO, MPI_COMM_WORLD));
        CHECK_EQ(pthread_join(thread, &result), 0);
        CHECK(result == PTHREAD_CANCELED);
        CHECK_EQ(atomic_load(&is_over), 1);
    } else {
        int sent = 17;
        OK(MPI_Recv(&value, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        /* The thread no longer spins then: it is in the system, where it would be cancelled. */
        usleep(20000);
        if (wait == locks)
            OK(MPI_Win_unlock(1, win));
        else if (wait == fences)
            OK(MPI_Win_fence(0, win));
        else if (wait == receives)
            OK(MPI_Send(&sent, 1, MPI_INT, 0, VALUE, MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv)
{
    long *memory;
    check_begin_threads(&argc, &argv);
    OK(MPI_Win_allocate(STORES * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    is_cancelled_behind(receives);
    if (check_rank == 0)
        CHECK_EQ(value, 17);
    is_cancelled_behind(locks);
    is_cancelled_behind(requests);
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    is_cancelled_behind(fences);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Win_free(&win));
    return check_end();
}
