/* Requests of all kinds in one list: messages, persistent and partitioned ones, collectives and persistent collectives, along edges,
 * of windows, generalized, inactive and null; ended by each call that waits or tests, or looks at them first.
 *
 * ranks: 1 2 4
 * peers: not openmpi, whose 4.1 has no partitioned messages
 * peers: not mpich, whose 4.0 has no persistent collectives along edges
 * peers: not mpich-guest, the same
 * peers: not mpich-abi, whose MPI_Testall of 5.0 refuses partitioned and persistent collective requests that have ended
 * peers: not mpich-abi-guest, the same
 * peers: not newest-mpich-guest, whose MPI_Testall of 5.0 refuses partitioned and persistent collective requests that have ended
 * memcheck: yes */
#include "check.h"

enum { IRECV, ISEND, RECV, SEND, PRECV, PSEND, ALLREDUCE, PERSISTENT, EDGES, RPUT, GENERAL, INACTIVE, NONE, KINDS };
enum { STARTED_FIRST = RECV, PARTS = 3 };

static MPI_Request requests[KINDS];
static MPI_Status statuses[KINDS];
static int right, left, round_number;
static MPI_Comm ring;
static MPI_Win win;

static int in_plain, out, in_persistent, in_parts[PARTS], out_parts[PARTS], sum, total, edges[2], put, *window, unused;

static int is_persistent(int kind)
{
    return kind == RECV || kind == SEND || kind == PRECV || kind == PSEND || kind == PERSISTENT || kind == EDGES;
}

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 41, status->MPI_TAG = 42;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static int value(int rank)
{
    return 100 * round_number + rank;
}

static void make(void)
{
    OK(MPI_Recv_init(&in_persistent, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[RECV]));
    OK(MPI_Send_init(&out, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[SEND]));
    OK(MPI_Precv_init(in_parts, 1, PARTS, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[PRECV]));
    OK(MPI_Psend_init(out_parts, PARTS, 1, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[PSEND]));
    OK(MPI_Allreduce_init(&out, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[PERSISTENT]));
    OK(MPI_Neighbor_allgather_init(&out, 1, MPI_INT, edges, 1, MPI_INT, ring, MPI_INFO_NULL, &requests[EDGES]));
    OK(MPI_Recv_init(&unused, 1, MPI_INT, left, 99, MPI_COMM_WORLD, &requests[INACTIVE]));
    requests[NONE] = MPI_REQUEST_NULL;
}

static void start(int *released)
{
    round_number++;
    out = put = value(check_rank);
    for (int part = 0; part < PARTS; part++)
        out_parts[part] = 10 * value(check_rank) + part, in_parts[part] = -1;
    in_plain = in_persistent = sum = total = edges[0] = edges[1] = -1;
    OK(MPI_Irecv(&in_plain, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[IRECV]));
    OK(MPI_Isend(&out, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[ISEND]));
    OK(MPI_Startall(4, &requests[STARTED_FIRST]));
    OK(MPI_Iallreduce(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[ALLREDUCE]));
    OK(MPI_Startall(2, &requests[PERSISTENT]));
    OK(MPI_Rput(&put, 1, MPI_INT, right, 0, 1, MPI_INT, win, &requests[RPUT]));
    OK(MPI_Grequest_start(query, release, cancel, released, &requests[GENERAL]));
    OK(MPI_Pready_range(0, PARTS - 1, requests[PSEND]));
    OK(MPI_Grequest_complete(requests[GENERAL]));
}

static void verify_status(int kind, const MPI_Status *status)
{
    int count = -1;
    OK(MPI_Get_count(status, MPI_INT, &count));
    if (kind == IRECV || kind == RECV || kind == PRECV) {
        CHECK_EQ(status->MPI_SOURCE, left);
        CHECK_EQ(status->MPI_TAG, kind == IRECV ? 1 : kind == RECV ? 2 : 3);
        CHECK_EQ(count, kind == PRECV ? PARTS : 1);
    } else if (kind == GENERAL) {
        CHECK(status->MPI_SOURCE == 41 && status->MPI_TAG == 42 && count == 3);
    }
}

static void verify(int released)
{
    int all = 0;
    for (int rank = 0; rank < check_size; rank++)
        all += value(rank);
    CHECK_EQ(in_plain, value(left));
    CHECK_EQ(in_persistent, value(left));
    for (int part = 0; part < PARTS; part++)
        CHECK_AT(in_parts, part, 10 * value(left) + part);
    CHECK_EQ(sum, all);
    CHECK_EQ(total, all);
    CHECK(edges[0] == value(left) && edges[1] == value(right));
    CHECK_EQ(released, 1);
    for (int kind = 0; kind < KINDS; kind++)
        if ((requests[kind] != MPI_REQUEST_NULL) != (is_persistent(kind) || kind == INACTIVE))
            CHECK_SAY("request %d is%s null", kind, requests[kind] == MPI_REQUEST_NULL ? "" : " not");
    OK(MPI_Win_flush_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_sync(win));
    CHECK_EQ(*window, value(left));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void by_single(int waits)
{
    for (int turn = 0; turn < KINDS; turn++) {
        int kind = (turn * 5 + check_rank) % KINDS, flag = waits;
        DOING("MPI_Test until it says yes");
        if (waits)
            OK(MPI_Wait(&requests[kind], &statuses[kind]));
        while (!flag)
            MPI_Test(&requests[kind], &flag, &statuses[kind]);
        verify_status(kind, &statuses[kind]);
    }
}

static void by_any(int waits)
{
    for (int ended = 0; ended < INACTIVE;) {
        int index = -1, flag = 1;
        DOING("one of all requests");
        if (waits)
            MPI_Waitany(KINDS, requests, &index, &statuses[0]);
        else
            MPI_Testany(KINDS, requests, &index, &flag, &statuses[0]);
        if (!flag)
            continue;
        CHECK(index >= 0 && index < INACTIVE);
        if (index < 0)
            break;
        verify_status(index, &statuses[0]);
        ended++;
    }
}

static void by_some(int waits)
{
    for (int ended = 0; ended < INACTIVE;) {
        int count = -1, indices[KINDS];
        DOING("some of all requests");
        if (waits)
            MPI_Waitsome(KINDS, requests, &count, indices, statuses);
        else
            MPI_Testsome(KINDS, requests, &count, indices, statuses);
        CHECK(count != MPI_UNDEFINED && count >= waits);
        if (count == MPI_UNDEFINED)
            break;
        for (int i = 0; i < count; i++)
            verify_status(indices[i], &statuses[i]);
        ended += count;
    }
}

static void by_all(int waits)
{
    int flag = waits;
    DOING("all requests");
    if (waits)
        OK(MPI_Waitall(KINDS, requests, statuses));
    while (!flag)
        MPI_Testall(KINDS, requests, &flag, statuses);
    for (int kind = 0; kind < KINDS; kind++)
        verify_status(kind, &statuses[kind]);
}

/* Looks at each until it is over, twice: none is ended by that. */
static void by_looking(int unused_waits)
{
    (void)unused_waits;
    for (int pass = 0; pass < 2; pass++)
        for (int kind = 0; kind < KINDS; kind++) {
            int flag = 0;
            DOING("MPI_Request_get_status until it says yes");
            while (!flag)
                MPI_Request_get_status(requests[kind], &flag, &statuses[kind]);
            verify_status(kind, &statuses[kind]);
        }
    by_all(1);
}

int main(int argc, char **argv)
{
    void (*const ways[])(int) = {by_single, by_any, by_some, by_all, by_looking};
    int index, flag, count;
    check_begin(&argc, &argv);
    right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, (int[]){1}, 0, &ring));
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win));
    OK(MPI_Win_lock_all(0, win));
    make();
    for (int way = 0; way < 5; way++)
        for (int waits = 0; waits < 2; waits++)
            for (int again = 0; again < 2; again++) {
                int released = 0;
                start(&released);
                ways[way](waits);
                verify(released);
            }
    /* What is left is inactive or null: nothing to wait for. */
    OK(MPI_Waitany(KINDS, requests, &index, statuses));
    CHECK_EQ(index, MPI_UNDEFINED);
    OK(MPI_Testany(KINDS, requests, &index, &flag, statuses));
    CHECK(flag && index == MPI_UNDEFINED);
    OK(MPI_Waitsome(KINDS, requests, &count, &index, statuses));
    CHECK_EQ(count, MPI_UNDEFINED);
    OK(MPI_Testall(KINDS, requests, &flag, statuses));
    CHECK(flag);
    OK(MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE));
    for (int kind = 0; kind < KINDS; kind++)
        if (requests[kind] != MPI_REQUEST_NULL)
            OK(MPI_Request_free(&requests[kind]));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&ring));
    return check_end();
}
