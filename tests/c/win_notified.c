/* Operations that tell their target: each form moves its data and raises its counter once; counters that are not in use are errors of
 * their own class and move nothing; waits for one, for any of a row with a limit, and by a request among others.
 *
 * ranks: 1 2 4
 * peers: none, no other library has the calls */
#include "check.h"

#include <mpix_rma.h>

enum { SLOTS = 64, COUNTERS = 5 };

static MPI_Count value_of(MPI_Win win, int notify)
{
    MPI_Count value = -1;
    OK(MPIX_Win_get_notify_value(win, notify, &value));
    return value;
}

static void forms(MPI_Win win, const long *base, int to, int from)
{
    long out[4], in[4] = {0}, old[4] = {0}, rin[4] = {0}, rold[4] = {0};
    MPI_Count value = -1;
    MPI_Datatype column;
    MPI_Request requests[5], receive;
    int index = 0, word = check_rank, got = -1;
    for (int i = 0; i < 4; i++)
        out[i] = 10 * check_rank + i;
    OK(MPI_Type_vector(4, 1, 2, MPI_LONG, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Win_lock_all(0, win));
    OK(MPIX_Win_request_notify(win, 4, 4, &requests[4]));
    OK(MPIX_Put_notify(out, 4, MPI_LONG, to, 0, 4, MPI_LONG, 0, win));
    OK(MPIX_Put_notify_c(out, 4, MPI_LONG, to, 8, 1, column, 0, win));
    OK(MPIX_Get_notify(in, 4, MPI_LONG, to, 60, 4, MPI_LONG, 1, win));
    OK(MPIX_Accumulate_notify(out, 4, MPI_LONG, to, 20, 4, MPI_LONG, MPI_SUM, 2, win));
    OK(MPIX_Get_accumulate_notify(out, 4, MPI_LONG, old, 4, MPI_LONG, to, 24, 4, MPI_LONG, MPI_SUM, 3, win));
    OK(MPIX_Rput_notify(out, 4, MPI_LONG, to, 30, 4, MPI_LONG, 4, win, &requests[0]));
    OK(MPIX_Rget_notify(rin, 4, MPI_LONG, to, 60, 4, MPI_LONG, 4, win, &requests[1]));
    OK(MPIX_Raccumulate_notify(out, 4, MPI_LONG, to, 34, 4, MPI_LONG, MPI_SUM, 4, win, &requests[2]));
    OK(MPIX_Rget_accumulate_notify(NULL, 0, MPI_LONG, rold, 4, MPI_LONG, to, 38, 4, MPI_LONG, MPI_NO_OP, 4, win,
                                   &requests[3]));
    OK(MPIX_Put_notify(out, 4, MPI_LONG, MPI_PROC_NULL, 0, 4, MPI_LONG, 99, win));
    OK(MPI_Irecv(&got, 1, MPI_INT, from, 7, MPI_COMM_WORLD, &receive));
    OK(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 5; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
    OK(MPI_Send(&word, 1, MPI_INT, to, 7, MPI_COMM_WORLD));
    OK(MPIX_Win_request_notify(win, 0, 2, &requests[0]));
    requests[1] = receive;
    for (int done = 0; done < 2; done++)
        OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
    CHECK(got == from);
    for (int notify = 0; notify < COUNTERS; notify++) {
        int number = notify == 4 ? 4 : notify == 0 ? 2 : 1;
        OK(MPIX_Win_wait_notify(win, notify, number, &value));
        CHECK(value == number);
    }
    for (int i = 0; i < 4; i++) {
        long theirs = 10 * from + i, mine = 1000 + check_rank;
        CHECK(base[i] == theirs && base[8 + 2 * i] == theirs && base[9 + 2 * i] == mine);
        CHECK(base[20 + i] == mine + theirs && base[24 + i] == mine + theirs);
        CHECK(base[30 + i] == theirs && base[34 + i] == mine + theirs && base[38 + i] == mine);
    }
    OK(MPI_Win_unlock_all(win));
    for (int i = 0; i < 4; i++)
        CHECK(in[i] == 1000 + to && old[i] == 1000 + to && rin[i] == 1000 + to && rold[i] == 1000 + to);
    OK(MPIX_Win_reset_notify_value(win, 4, &value));
    CHECK(value == 4 && value_of(win, 4) == 0 && value_of(win, 0) == 2);
    OK(MPI_Type_free(&column));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void refusals(MPI_Win win, const long *base, int to)
{
    long before = base[0], word = -7;
    MPI_Count value = -1;
    int notify = -1, flag = -1, number = -1;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    FAILS(MPIX_Put_notify(&word, 1, MPI_LONG, to, 0, 1, MPI_LONG, COUNTERS, win), MPIX_ERR_RMA_NOTIFICATION);
    FAILS(MPIX_Put_notify(&word, 1, MPI_LONG, to, 0, 1, MPI_LONG, -1, win), MPIX_ERR_RMA_NOTIFICATION);
    FAILS(MPIX_Accumulate_notify(&word, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, COUNTERS, win),
          MPIX_ERR_RMA_NOTIFICATION);
    FAILS(MPIX_Put_notify(&word, 1, MPI_LONG, to, SLOTS, 1, MPI_LONG, 0, win), MPI_ERR_RMA_RANGE);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(base[0] == before && value_of(win, 0) == 2);
    FAILS(MPIX_Win_get_notify_value(win, COUNTERS, &value), MPIX_ERR_RMA_NOTIFICATION);
    FAILS(MPIX_Win_reset_notify_value(win, -1, &value), MPIX_ERR_RMA_NOTIFICATION);
    FAILS(MPIX_Win_wait_notify(win, COUNTERS, 0, &value), MPIX_ERR_RMA_NOTIFICATION);
    FAILS(MPIX_Win_waitany_notify(win, 0, 0, 1, 0, &notify, &flag), MPI_ERR_ARG);
    OK(MPIX_Win_waitany_notify(win, 3, 2, 7, 2, &notify, &flag));
    CHECK(flag == 0);
    OK(MPIX_Win_waitany_notify(win, 0, COUNTERS, 2, -1, &notify, &flag));
    CHECK(flag == 1 && notify == 0);
    FAILS(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, check_rank == 0 ? -1 : 2), MPI_ERR_ARG);
    OK(MPIX_Win_get_num_notify(win, to, &number));
    CHECK(number == COUNTERS && value_of(win, 0) == 2);
    OK(MPI_Win_fence(0, win));
    FAILS(MPIX_Put_notify(&word, 1, MPI_LONG, to, 0, 1, MPI_LONG, 0, win), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

static void numbers(int to)
{
    int number = -1, flag = 0, *bound = NULL;
    MPI_Count *limit = NULL;
    MPI_Win win;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_max_num_notify", "100"));
    OK(MPI_Info_set(info, "mpix_notify_ordered", "true"));
    OK(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Info_free(&info));
    OK(MPI_Win_get_attr(win, MPIX_WIN_NOTIFICATION_NUM_UB, &bound, &flag));
    CHECK(flag && *bound == 100);
    OK(MPI_Win_get_attr(win, MPIX_WIN_NOTIFICATION_VALUE_UB, &limit, &flag));
    CHECK(flag && *limit > 1000000);
    OK(MPIX_Win_get_num_notify(win, to, &number));
    CHECK(number == 0);
    FAILS(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 101), MPI_ERR_ARG);
    OK(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 10 + check_rank));
    OK(MPIX_Win_get_num_notify(win, to, &number));
    CHECK(number == 10 + to);
    long word = 0, mine = 5 + check_rank;
    MPI_Aint place, theirs;
    MPI_Count value;
    int from = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_attach(win, &word, sizeof word));
    OK(MPI_Get_address(&word, &place));
    OK(MPI_Sendrecv(&place, 1, MPI_AINT, from, 1, &theirs, 1, MPI_AINT, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
    OK(MPIX_Put_notify(&mine, 1, MPI_LONG, to, theirs, 1, MPI_LONG, 9 + to, win));
    OK(MPI_Win_unlock(to, win));
    OK(MPIX_Win_wait_notify(win, 9 + check_rank, 1, &value));
    CHECK(word == 5 + from);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_detach(win, &word));
    OK(MPI_Win_free(&win));
}

/* A counter is raised when the last of many bytes is there; and a wait without a limit does not end before. */
static void many(int to)
{
    enum { WORDS = 1 << 16, LAST = WORDS - 1 };
    long *base, *out = malloc(WORDS * sizeof *out);
    int notify = -1, flag = -1;
    MPI_Count value;
    MPI_Win win;
    OK(MPI_Win_allocate(WORDS * sizeof *out, sizeof *out, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 2));
    OK(MPI_Win_lock_all(0, win));
    for (int round = 1; round <= 6; round++) {
        for (int i = 0; i < WORDS; i++)
            out[i] = round;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (check_rank % 2 == 0)
            OK(MPIX_Put_notify(out, WORDS, MPI_LONG, to, 0, WORDS, MPI_LONG, 0, win));
        if (check_rank % 2 != 0 || check_size == 1) {
            OK(MPIX_Win_wait_notify(win, 0, round, &value));
            CHECK_EQ(base[LAST], round);
        }
        OK(MPI_Win_flush(to, win));
    }
    if (check_rank % 2 == 0) {
        usleep(20000);
        OK(MPIX_Put_notify(out, 1, MPI_LONG, to, 0, 1, MPI_LONG, 1, win));
    } else {
        OK(MPIX_Win_waitany_notify(win, 0, 2, 50, 1, &notify, &flag));
        CHECK_EQ(flag, 0);
        OK(MPIX_Win_waitany_notify(win, 1, 1, 1, -1, &notify, &flag));
        CHECK(flag == 1 && notify == 1);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    free(out);
}

int main(int argc, char **argv)
{
    long *base = NULL;
    MPI_Win win;
    check_begin(&argc, &argv);
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_allocate(SLOTS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    for (int i = 0; i < SLOTS; i++)
        base[i] = 1000 + check_rank;
    OK(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, COUNTERS));
    forms(win, base, to, from);
    refusals(win, base, to);
    OK(MPI_Win_free(&win));
    numbers(to);
    many(to);
    return check_end();
}
