/* Requests of operations that were complete as their calls returned: many at a time, completed, freed, looked at and
 * converted by every call there is, in any mixture; calls that are refused leave the request alone.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: not mpich-abi, whose requests that have ended are equal
 * peers: not newest-mpich-guest, requests that have ended are equal
 * peers: not mpich-abi-guest, the same */
#include "check.h"

enum { SLOTS = 64, ROUNDS = 100 };

static long *base;
static MPI_Win win;
static int to;

/* A request of each kind; after the first round the library knows the fast path of all of them. */
static void start(MPI_Request requests[4], const long *values, long *results)
{
    OK(MPI_Rput(values, 4, MPI_LONG, to, 0, 4, MPI_LONG, win, &requests[0]));
    OK(MPI_Rget(results, 2, MPI_LONG, to, 8, 2, MPI_LONG, win, &requests[1]));
    OK(MPI_Raccumulate(values, 3, MPI_LONG, to, 16, 3, MPI_LONG, MPI_SUM, win, &requests[2]));
    OK(MPI_Rget_accumulate(values, 1, MPI_LONG, results + 2, 1, MPI_LONG, to, 24, 1, MPI_LONG, MPI_SUM, win,
                           &requests[3]));
}

static void all_null(const MPI_Request *requests, int count)
{
    for (int i = 0; i < count; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
}

static void finish(int way, MPI_Request requests[4])
{
    MPI_Status statuses[4];
    int flag = 0, index = -1, count = 0, indices[4];
    switch (way) {
    case 0:
        OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
        break;
    case 1:
        for (int i = 0; i < 4; i++)
            OK(MPI_Wait(&requests[i], &statuses[i]));
        break;
    case 2:
        for (int i = 0; i < 4; i++)
            for (flag = 0; !flag;)
                OK(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
        break;
    case 3:
        for (int i = 0; i < 4; i++)
            OK(MPI_Waitany(4, requests, &index, &statuses[0]));
        break;
    case 4:
        for (int done = 0; done < 4; done += count)
            OK(MPI_Testsome(4, requests, &count, indices, statuses));
        break;
    case 5:
        OK(MPI_Win_flush(to, win));
        for (int i = 0; i < 4; i++)
            OK(MPI_Request_free(&requests[i]));
        break;
    case 6:
        for (int i = 0; i < 4; i++) {
            for (flag = 0; !flag;)
                OK(MPI_Request_get_status(requests[i], &flag, &statuses[i]));
            int number = MPI_Request_toint(requests[i]);
            CHECK(MPI_Request_fromint(number) == requests[i]);
        }
        OK(MPI_Waitall(4, requests, statuses));
        break;
    default:
        for (flag = 0; !flag;)
            OK(MPI_Testall(4, requests, &flag, statuses));
    }
    all_null(requests, 4);
    OK(MPI_Wait(&requests[0], &statuses[0]));
    CHECK_EQ(statuses[0].MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(statuses[0].MPI_TAG, MPI_ANY_TAG);
    OK(MPI_Get_count(&statuses[0], MPI_LONG, &count));
    CHECK_EQ(count, 0);
}

/* Waits that have more to wait for than what has ended. */
static void mixture(const long *values, long *results)
{
    MPI_Request requests[6];
    MPI_Status statuses[6];
    int from = (check_rank + check_size - 1) % check_size, word = -1;
    start(requests, values, results);
    OK(MPI_Irecv(&word, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &requests[4]));
    OK(MPI_Isend(&check_rank, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[5]));
    statuses[0].MPI_ERROR = 77;
    OK(MPI_Waitall(6, requests, statuses));
    all_null(requests, 6);
    CHECK_EQ(word, from);
    CHECK_EQ(statuses[4].MPI_SOURCE, from);
    CHECK_EQ(statuses[0].MPI_ERROR, 77);
}

/* More at a time than the fast path has room for. */
static void many(const long *values)
{
    enum { MANY = 1500 };
    static MPI_Request requests[MANY];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            OK(MPI_Rput(&values[i % 4], 1, MPI_LONG, to, 32 + i % 4, 1, MPI_LONG, win, &requests[i]));
        for (int i = 0; i < MANY - 1; i++)
            CHECK(requests[i] != requests[i + 1] && requests[i] != MPI_REQUEST_NULL);
        if (round == 0)
            OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
        else
            for (int i = MANY; i-- > 0;)
                OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        all_null(requests, MANY);
    }
}

static void refused(const long *values)
{
    MPI_Request ended, request = MPI_REQUEST_NULL;
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Rput(values, 1, MPI_LONG, to, 0, 1, MPI_LONG, win, &ended));
    FAILS(MPI_Rput(values, 1, MPI_LONG, to, SLOTS, 1, MPI_LONG, win, &request), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Rput(values, 1, MPI_LONG, to, 0, 1, MPI_LONG, win, NULL), MPI_ERR_ARG);
    FAILS(MPI_Rput(values, 1, MPI_LONG, check_size, 0, 1, MPI_LONG, win, &request), MPI_ERR_RANK);
    FAILS(MPI_Test(&ended, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(ended != MPI_REQUEST_NULL);
    MPI_Request twice[3] = {ended, MPI_REQUEST_NULL, ended};
    FAILS(MPI_Waitall(3, twice, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    CHECK(twice[0] == ended && twice[2] == ended);
    twice[2] = MPI_REQUEST_NULL;
    OK(MPI_Waitall(3, twice, MPI_STATUSES_IGNORE));
    FAILS(MPI_Wait(&ended, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Waitall(1, &ended, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Request_free(&ended), MPI_ERR_REQUEST);
    OK(MPI_Win_unlock_all(win));
    FAILS(MPI_Rput(values, 1, MPI_LONG, to, 0, 1, MPI_LONG, win, &request), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_fence(0, win));
    FAILS(MPI_Rput(values, 1, MPI_LONG, to, 0, 1, MPI_LONG, win, &request), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Rget_accumulate(values, 1, MPI_LONG, &base[1], 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win, &request),
          MPI_ERR_RMA_SYNC);
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

int main(int argc, char **argv)
{
    long values[4], results[3];
    MPI_Request requests[4];
    check_begin(&argc, &argv);
    to = (check_rank + 1) % check_size;
    OK(MPI_Win_allocate(SLOTS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    for (int i = 0; i < SLOTS; i++)
        base[i] = 1000 * check_rank + i;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 4; i++)
            values[i] = round + i;
        results[0] = results[1] = results[2] = -1;
        start(requests, values, results);
        finish(round % 8, requests);
        OK(MPI_Win_flush(to, win));
        CHECK_AT(results, 0, 1000 * to + 8);
        CHECK_AT(results, 1, 1000 * to + 9);
        CHECK_AT(results, 2, 1000 * to + 24 + round * (round - 1) / 2);
    }
    for (int i = 0; i < 4; i++)
        values[i] = 0;
    mixture(values, results);
    for (int i = 0; i < 4; i++)
        values[i] = ROUNDS - 1 + i;
    many(values);
    refused(values);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    CHECK_AT(base, 0, ROUNDS - 1);
    for (int i = 1; i < 4; i++)
        CHECK_AT(base, i, 0);
    for (int i = 0; i < 3; i++)
        CHECK_AT(base, 16 + i, 1000 * check_rank + 16 + i + ROUNDS * (ROUNDS - 1) / 2 + i * ROUNDS);
    for (int i = 0; i < 4; i++)
        CHECK_AT(base, 32 + i, ROUNDS - 1 + i);
    CHECK_AT(base, 24, 1000 * check_rank + 24 + ROUNDS * (ROUNDS - 1) / 2);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Win_free(&win));
    return check_end();
}
