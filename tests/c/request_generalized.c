/* Generalized requests: the program completes them, also from another thread while one waits; its
 * functions are called when the standard says, once, and their errors are those of the call;
 * beside other requests in the same calls.
 *
 * ranks: 1 2
 * peers: not mpich, whose 4.0 says in MPI_Cancel of a complete request that it is not
 * peers: not mpich-guest, the same
 * peers: not mpich-abi, whose 5.0 ends by an assertion in MPI_Waitall
 * peers: not mpich-abi-guest, the same
 * peers: not newest-mpich-guest, whose 5.0 ends by an assertion in MPI_Waitall
 * memcheck: yes */
#include "check.h"

#include <pthread.h>

struct state {
    int value, queries, frees, cancels, was_complete, fail_query;
    MPI_Request self;
};

static int query(void *extra, MPI_Status *status)
{
    struct state *state = extra;
    state->queries++;
    /* The library may be called from here. */
    MPI_Status_set_elements(status, MPI_INT, state->value);
    MPI_Status_set_cancelled(status, state->cancels > 0);
    status->MPI_SOURCE = 40 + state->value;
    status->MPI_TAG = 50 + state->value;
    return state->fail_query ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int release(void *extra)
{
    ((struct state *)extra)->frees++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    struct state *state = extra;
    state->cancels++;
    state->was_complete = complete;
    if (!complete)
        MPI_Grequest_complete(state->self);
    return MPI_SUCCESS;
}

static void begin(struct state *state, int value, MPI_Request *request)
{
    memset(state, 0, sizeof *state);
    state->value = value;
    OK(MPI_Grequest_start(query, release, cancel, state, request));
    state->self = *request;
}

static void *complete_later(void *extra)
{
    struct state *state = extra;
    usleep(20000);
    OK(MPI_Grequest_complete(state->self));
    return NULL;
}

static void alone(void)
{
    struct state state;
    MPI_Request request;
    MPI_Status status;
    int flag = 1, count;
    begin(&state, 3, &request);
    OK(MPI_Test(&request, &flag, &status));
    CHECK(!flag);
    OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(!flag);
    CHECK_EQ(state.queries, 0);
    OK(MPI_Grequest_complete(request));
    CHECK_EQ(state.queries + state.frees, 0);
    OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag && state.queries == 1 && state.frees == 0);
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_EQ(state.queries, 2);
    CHECK_EQ(state.frees, 1);
    CHECK_EQ(status.MPI_SOURCE, 43);
    CHECK_EQ(status.MPI_TAG, 53);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, 3);

    /* Freed before the end: it goes when the program completes it, without a query. */
    begin(&state, 1, &request);
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL && state.frees == 0);
    OK(MPI_Grequest_complete(state.self));
    CHECK(state.frees == 1 && state.queries == 0);
    begin(&state, 1, &request);
    OK(MPI_Grequest_complete(request));
    OK(MPI_Request_free(&request));
    CHECK(state.frees == 1 && state.queries == 0);

    begin(&state, 2, &request);
    OK(MPI_Cancel(&request));
    CHECK(state.cancels == 1 && state.was_complete == 0);
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag && state.frees == 1);
    begin(&state, 2, &request);
    OK(MPI_Grequest_complete(request));
    OK(MPI_Cancel(&request));
    CHECK_EQ(state.was_complete, 1);
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(flag && state.frees == 1);
}

static void among_others(void)
{
    struct state states[2];
    MPI_Request requests[4];
    MPI_Status statuses[4], status;
    int in = -1, out = check_rank, index, count, indices[4], right = (check_rank + 1) % check_size;
    pthread_t thread;
    begin(&states[0], 1, &requests[0]);
    OK(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Isend(&out, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[2]));
    begin(&states[1], 2, &requests[3]);
    CHECK_EQ(pthread_create(&thread, NULL, complete_later, &states[0]), 0);
    OK(MPI_Wait(&requests[0], &status));
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(requests[0] == MPI_REQUEST_NULL && states[0].frees == 1);
    CHECK_EQ(pthread_create(&thread, NULL, complete_later, &states[1]), 0);
    OK(MPI_Waitall(4, requests, statuses));
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(in, (check_rank + check_size - 1) % check_size);
    CHECK_EQ(statuses[3].MPI_SOURCE, 42);
    CHECK(states[1].frees == 1 && states[1].queries == 1);

    begin(&states[0], 1, &requests[0]);
    begin(&states[1], 2, &requests[1]);
    OK(MPI_Grequest_complete(requests[1]));
    OK(MPI_Waitany(2, requests, &index, &status));
    CHECK(index == 1 && status.MPI_TAG == 52 && states[1].frees == 1);
    OK(MPI_Grequest_complete(requests[0]));
    OK(MPI_Waitsome(2, requests, &count, indices, statuses));
    CHECK(count == 1 && indices[0] == 0 && statuses[0].MPI_TAG == 51 && states[0].frees == 1);

    /* What the program's function answers is the error of the call; the request is gone. */
    begin(&states[0], 1, &requests[0]);
    states[0].fail_query = 1;
    OK(MPI_Grequest_complete(requests[0]));
    FAILS(MPI_Wait(&requests[0], &status), MPI_ERR_OTHER);
    CHECK(requests[0] == MPI_REQUEST_NULL && states[0].frees == 1);
}

int main(int argc, char **argv)
{
    check_begin_threads(&argc, &argv);
    check_errors_return();
    alone();
    among_others();
    return check_end();
}
