/* Calls that a window cannot carry out, each with its class, and no byte of the window or of the buffers changes: operations
 * and types that do not go together, assertions of other calls, numbers that overflow, buffers and groups that are none, and
 * requests where there cannot be any.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: none, they check fewer of them */
#include "check.h"

enum { WORDS = 8, MARK = 0x5a };

static MPI_Win win;
static long *memory, value[WORDS], result[WORDS];
static int right;

static void fill(void)
{
    memset(memory, MARK, WORDS * sizeof *memory);
    memset(value, 1, sizeof value);
    memset(result, MARK, sizeof result);
}

static void untouched(void)
{
    long mark;
    memset(&mark, MARK, sizeof mark);
    for (int i = 0; i < WORDS; i++) {
        CHECK_AT(memory, i, mark);
        CHECK_AT(result, i, mark);
    }
}

static void takes_first(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

/* Inside an epoch to the right neighbour. */
static void operations(void)
{
    MPI_Op own;
    MPI_Datatype mixed, huge, pair;
    MPI_Aint places[2] = {0, 8};
    MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};
    int lens[2] = {1, 1};
    OK(MPI_Op_create(takes_first, 1, &own));
    OK(MPI_Type_create_struct(2, lens, places, parts, &mixed));
    OK(MPI_Type_commit(&mixed));
    OK(MPI_Type_contiguous(1 << 30, MPI_LONG, &huge));
    OK(MPI_Type_commit(&huge));
    OK(MPI_Type_contiguous(2, MPI_LONG, &pair));
    OK(MPI_Type_commit(&pair));

    /* Operations and types. */
    FAILS(MPI_Accumulate(value, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, MPI_BAND, win), MPI_ERR_OP);
    FAILS(MPI_Accumulate(value, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_MAXLOC, win), MPI_ERR_OP);
    FAILS(MPI_Accumulate(value, 1, MPI_LONG, right, 0, 1, MPI_LONG, own, win), MPI_ERR_OP);
    FAILS(MPI_Get_accumulate(value, 1, MPI_LONG, result, 1, MPI_LONG, right, 0, 1, MPI_LONG, own, win), MPI_ERR_OP);
    FAILS(MPI_Fetch_and_op(value, result, MPI_LONG, right, 0, own, win), MPI_ERR_OP);
    FAILS(MPI_Fetch_and_op(value, result, MPI_DOUBLE, right, 0, MPI_BXOR, win), MPI_ERR_OP);
    FAILS(MPI_Fetch_and_op(value, result, pair, right, 0, MPI_SUM, win), MPI_ERR_TYPE);
    FAILS(MPI_Compare_and_swap(value, value, result, MPI_DOUBLE, right, 0, win), MPI_ERR_TYPE);
    FAILS(MPI_Compare_and_swap(value, value, result, pair, right, 0, win), MPI_ERR_TYPE);
    FAILS(MPI_Accumulate(value, 2, MPI_INT, right, 0, 1, MPI_DOUBLE, MPI_SUM, win), MPI_ERR_TYPE);
    FAILS(MPI_Accumulate(value, 1, mixed, right, 0, 1, mixed, MPI_SUM, win), MPI_ERR_TYPE);

    /* Numbers. */
    FAILS(MPI_Put_c(value, INT64_MAX, MPI_LONG, right, 0, INT64_MAX, MPI_LONG, win), MPI_ERR_COUNT);
    FAILS(MPI_Get_c(result, INT64_MAX / 8, pair, right, 0, INT64_MAX / 8, pair, win), MPI_ERR_COUNT);
    FAILS(MPI_Put_c(value, INT64_MIN, MPI_LONG, right, 0, 1, MPI_LONG, win), MPI_ERR_COUNT);
    FAILS(MPI_Put(value, 1 << 30, huge, right, 0, 1 << 30, huge, win), MPI_ERR_COUNT);
    FAILS(MPI_Put(value, 1, MPI_LONG, right, INT64_MAX, 1, MPI_LONG, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Get(result, 1, MPI_LONG, right, INT64_MAX / 8, 1, MPI_LONG, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Get(result, 1, MPI_LONG, right, -1, 1, MPI_LONG, win), MPI_ERR_DISP);
    FAILS(MPI_Accumulate(value, 1, MPI_LONG, right, INT64_MIN, 1, MPI_LONG, MPI_SUM, win), MPI_ERR_DISP);
    FAILS(MPI_Fetch_and_op(value, result, MPI_LONG, right, -9, MPI_SUM, win), MPI_ERR_DISP);
    FAILS(MPI_Compare_and_swap(value, value, result, MPI_LONG, right, WORDS, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Fetch_and_op(value, result, MPI_LONG, right, WORDS, MPI_SUM, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Put(value, 1, MPI_LONG, INT32_MAX, 0, 1, MPI_LONG, win), MPI_ERR_RANK);
    FAILS(MPI_Put(value, 1, MPI_LONG, MPI_ANY_SOURCE, 0, 1, MPI_LONG, win), MPI_ERR_RANK);

    /* Buffers. */
    FAILS(MPI_Put(NULL, 1, MPI_LONG, right, 0, 1, MPI_LONG, win), MPI_ERR_BUFFER);
    FAILS(MPI_Get(NULL, 1, MPI_LONG, right, 0, 1, MPI_LONG, win), MPI_ERR_BUFFER);
    FAILS(MPI_Put(MPI_IN_PLACE, 1, pair, right, 0, 1, pair, win), MPI_ERR_BUFFER);
    FAILS(MPI_Get_accumulate(value, 1, MPI_LONG, NULL, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, win), MPI_ERR_BUFFER);
    FAILS(MPI_Fetch_and_op(value, NULL, MPI_LONG, right, 0, MPI_SUM, win), MPI_ERR_BUFFER);
    FAILS(MPI_Fetch_and_op(NULL, result, MPI_LONG, right, 0, MPI_SUM, win), MPI_ERR_BUFFER);
    FAILS(MPI_Compare_and_swap(value, NULL, result, MPI_LONG, right, 0, win), MPI_ERR_BUFFER);
    OK(MPI_Put(NULL, 0, MPI_LONG, right, 0, 0, MPI_LONG, win));

    OK(MPI_Type_free(&pair));
    OK(MPI_Type_free(&huge));
    OK(MPI_Type_free(&mixed));
    OK(MPI_Op_free(&own));
}

static void assertions(void)
{
    MPI_Group all, none = MPI_GROUP_NULL;
    MPI_Win nothing = MPI_WIN_NULL;
    FAILS(MPI_Win_fence(1 << 30, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, right, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_lock_all(MPI_MODE_NOSTORE, win), MPI_ERR_ASSERT);
    OK(MPI_Win_get_group(win, &all));
    FAILS(MPI_Win_start(all, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_post(all, MPI_MODE_NOPRECEDE, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_start(none, 0, win), MPI_ERR_GROUP);
    FAILS(MPI_Win_post(none, 0, win), MPI_ERR_GROUP);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, -7, 0, win), MPI_ERR_RANK);
    FAILS(MPI_Win_lock(0, right, 0, win), MPI_ERR_LOCKTYPE);
    FAILS(MPI_Win_free(&nothing), MPI_ERR_WIN);
    FAILS(MPI_Win_free(NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_test(win, NULL), MPI_ERR_ARG);
    OK(MPI_Group_free(&all));
}

static void outsiders(void)
{
    /* A window of each rank alone, and groups with others in them. */
    MPI_Win alone;
    MPI_Group all;
    int *base;
    OK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &alone));
    OK(MPI_Win_set_errhandler(alone, MPI_ERRORS_RETURN));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    if (check_size > 1) {
        FAILS(MPI_Win_start(all, 0, alone), MPI_ERR_GROUP);
        FAILS(MPI_Win_post(all, 0, alone), MPI_ERR_GROUP);
        FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, alone), MPI_ERR_RANK);
    }
    OK(MPI_Group_free(&all));
    OK(MPI_Win_free(&alone));
}

static void requests(void)
{
    MPI_Request request = MPI_REQUEST_NULL, other;
    int flag, index;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    FAILS(MPI_Rput(value, 1, MPI_LONG, right, 0, 1, MPI_LONG, win, NULL), MPI_ERR_ARG);
    FAILS(MPI_Rput(value, 1, MPI_LONG, right, WORDS, 1, MPI_LONG, win, &request), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Rget(result, -1, MPI_LONG, right, 0, 1, MPI_LONG, win, &request), MPI_ERR_COUNT);
    FAILS(MPI_Raccumulate(value, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_OP_NULL, win, &request), MPI_ERR_OP);
    FAILS(MPI_Rget_accumulate(value, 1, MPI_LONG, NULL, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, win, &request),
          MPI_ERR_BUFFER);
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Rput(value, 0, MPI_LONG, right, 0, 0, MPI_LONG, win, &request));
    other = request;
    FAILS(MPI_Test(&request, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Waitany(1, &request, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    FAILS(MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Testany(1, &request, &index, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    CHECK(request == other);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_unlock(right, win));
    FAILS(MPI_Wait(&other, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Test(&other, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Cancel(&other), MPI_ERR_REQUEST);
    FAILS(MPI_Waitall(1, &other, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Request_free(&request), MPI_ERR_REQUEST);

    /* Outside an epoch, and in one that is not of locks. */
    FAILS(MPI_Rput(value, 1, MPI_LONG, right, 0, 1, MPI_LONG, win, &request), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_fence(0, win));
    FAILS(MPI_Rget(result, 1, MPI_LONG, right, 0, 1, MPI_LONG, win, &request), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(request == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_errors_return();
    right = (check_rank + 1) % check_size;
    OK(MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    fill();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    assertions();
    outsiders();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    operations();
    OK(MPI_Win_unlock(right, win));
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    operations();
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    requests();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    untouched();
    OK(MPI_Win_free(&win));
    return check_end();
}
