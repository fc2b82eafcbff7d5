/* Threads of a rank have many requests of puts that were complete as they returned, and complete them in several ways: no
 * request is given to two.
 *
 * ranks: 1 2
 * peers: not openmpi-guest, requests that have ended are equal
 * peers: not newest-openmpi-guest, requests that have ended are equal
 * peers: not mpich-guest, requests that have ended are equal
 * peers: not mpich-abi, likewise
 * peers: not newest-mpich-guest, requests that have ended are equal
 * peers: not mpich-abi-guest, likewise */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 50000, PUTS = 5 };

static MPI_Win win;
static int target;

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;
    int64_t values[PUTS];
    MPI_Request requests[PUTS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PUTS; i++) {
            MPI_Aint place = (check_rank * THREADS + me) * PUTS + i;
            values[i] = (int64_t)round * PUTS + i;
            OK(MPI_Rput(&values[i], 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, win, &requests[i]));
            for (int before = 0; before < i; before++)
                CHECK(requests[before] != requests[i]);
        }
        int flag = 0;
        OK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
        OK(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
        if (!flag)
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        OK(MPI_Waitall(PUTS, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < PUTS; i++)
            CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int64_t *memory;
    check_begin_threads(&argc, &argv);
    target = (check_rank + 1) % check_size;
    MPI_Aint bytes = (MPI_Aint)sizeof *memory * check_size * THREADS * PUTS;
    OK(MPI_Win_allocate(bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int origin = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    for (int i = 0; i < THREADS * PUTS; i++)
        CHECK_EQ(memory[origin * THREADS * PUTS + i], (int64_t)(ROUNDS - 1) * PUTS + i % PUTS);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Win_free(&win));
    return check_end();
}
