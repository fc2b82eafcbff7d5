/* Streams of puts and accumulates with requests, many in a row without a flush: each buffer is the caller's again when its request has
 * ended, errors among them leave the others as they are, and all have arrived after the flush.
 *
 * ranks: 2 3
 * peers: none, they check fewer arguments */
#include "check.h"

enum { LONGS = 1500 };

static void put_all(MPI_Win win, int to, long first, int is_waiting)
{
    static long values[LONGS];
    static MPI_Request requests[LONGS];
    for (int i = 0; i < LONGS; i++) {
        long *value = is_waiting ? values : &values[i];
        *value = first + i;
        OK(MPI_Rput(value, 1, MPI_LONG, to, i, 1, MPI_LONG, win, &requests[i]));
        if (is_waiting)
            OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    }
    if (!is_waiting)
        OK(MPI_Waitall(LONGS, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < LONGS; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
        values[i] = -1;
    }
}

static void see(const long *found, long first, long each)
{
    for (int i = 0; i < LONGS; i++)
        CHECK_AT(found, i, first + each * i);
}

int main(int argc, char **argv)
{
    static long found[LONGS];
    long *base = NULL, two = 2;
    double half = 0.5;
    MPI_Win win;
    MPI_Request request = MPI_REQUEST_NULL;
    check_begin(&argc, &argv);
    int to = (check_rank + 1) % check_size;
    OK(MPI_Win_allocate(LONGS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    for (int i = 0; i < LONGS; i++)
        base[i] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));

    OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
    for (int waits = 0; waits < 2; waits++) {
        long first = 1000000 * (check_rank + 1) + 5000 * waits;
        put_all(win, to, first, waits);
        OK(MPI_Win_flush(to, win));
        OK(MPI_Get(found, LONGS, MPI_LONG, to, 0, LONGS, MPI_LONG, win));
        OK(MPI_Win_flush(to, win));
        see(found, first, 1);
    }
    /* Sums of one element, and among them what is refused. */
    for (int i = 0; i < LONGS; i++) {
        OK(MPI_Raccumulate(&two, 1, MPI_LONG, to, i, 1, MPI_LONG, MPI_SUM, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (i % 100 != 50)
            continue;
        FAILS(MPI_Rput(&two, 1, MPI_LONG, to, LONGS, 1, MPI_LONG, win, &request), MPI_ERR_RMA_RANGE);
        FAILS(MPI_Rput(&two, -1, MPI_LONG, to, 0, 1, MPI_LONG, win, &request), MPI_ERR_COUNT);
        FAILS(MPI_Rput(&two, 1, MPI_LONG, to, -1, 1, MPI_LONG, win, &request), MPI_ERR_DISP);
        FAILS(MPI_Rput(&two, 1, MPI_LONG, to, 0, 1, MPI_LONG, win, NULL), MPI_ERR_ARG);
        FAILS(MPI_Rput(&two, 1, MPI_LONG, check_size, 0, 1, MPI_LONG, win, &request), MPI_ERR_RANK);
        FAILS(MPI_Raccumulate(&half, 1, MPI_DOUBLE, to, 0, 1, MPI_DOUBLE, MPI_BXOR, win, &request), MPI_ERR_OP);
        CHECK(request == MPI_REQUEST_NULL);
    }
    OK(MPI_Win_unlock(to, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    see(base, 1000000 * (check_rank == 0 ? check_size : check_rank) + 5000 + 2, 1);
    OK(MPI_Win_unlock(check_rank, win));

    /* A pack of puts of a fence takes none with a request. */
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < LONGS; i++)
        OK(MPI_Put(&two, 1, MPI_LONG, to, i, 1, MPI_LONG, win));
    FAILS(MPI_Rput(&half, 1, MPI_LONG, to, 0, 1, MPI_LONG, win, &request), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    see(base, 2, 0);
    OK(MPI_Win_free(&win));
    return check_end();
}
