/* Performance variables (MPI 4.1, 15.3.7): counters of one window and of the whole process count while they are started,
 * are read, written, set back, and count one window's operations and no other's; levels and high-water marks always run.
 *
 * ranks: 2 3
 * memcheck: yes
 * peers: none, the variables are those of this library */
#include "tool.h"

enum { PUTS = 20 };

static MPI_T_pvar_session session;

static void puts_and_flush(MPI_Win win, int count)
{
    long long value = 7;
    int right = (check_rank + 1) % check_size;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    for (int i = 0; i < count; i++)
        OK(MPI_Put(&value, 1, MPI_LONG_LONG, right, check_rank, 1, MPI_LONG_LONG, win));
    OK(MPI_Win_flush(right, win));
    OK(MPI_Win_unlock(right, win));
}

static void describe_all(void)
{
    int count = 0, found;
    OK(MPI_T_pvar_get_num(&count));
    CHECK(count > 20);
    for (int index = 0; index < count; index++) {
        char name[64], text[512];
        int name_len = sizeof name, text_len = sizeof text;
        int verbosity, var_class, bind, readonly, continuous, atomic;
        MPI_Datatype datatype;
        MPI_T_enum words;
        OK(MPI_T_pvar_get_info(index, name, &name_len, &verbosity, &var_class, &datatype, &words, text, &text_len,
                               &bind, &readonly, &continuous, &atomic));
        CHECK(datatype == MPI_UNSIGNED_LONG_LONG);
        CHECK(words == MPI_T_ENUM_NULL);
        CHECK_EQ(bind, strncmp(name, "rma_win_", 8) == 0 ? MPI_T_BIND_MPI_WIN : MPI_T_BIND_NO_OBJECT);
        CHECK_EQ(continuous, var_class != MPI_T_PVAR_CLASS_COUNTER);
        CHECK_EQ(readonly, continuous);
        CHECK_EQ(atomic, !continuous);
        CHECK_EQ(text_len, strlen(text) + 1);
        OK(MPI_T_pvar_get_index(name, var_class, &found));
        CHECK_EQ(found, index);
        ANSWERS(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_TIMER, &found), MPI_T_ERR_INVALID_NAME);
    }
}

static MPI_T_pvar_handle counter(const char *name, void *object)
{
    return tool_meter(session, name, MPI_T_PVAR_CLASS_COUNTER, object);
}

int main(int argc, char **argv)
{
    int provided, is_packets, may_be_direct;
    long long *memory[2];
    MPI_Win win[2];
    unsigned long long value;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    describe_all();
    is_packets = tool_has_packets();
    may_be_direct = !is_packets;
    OK(MPI_T_pvar_session_create(&session));
    for (int i = 0; i < 2; i++) {
        OK(MPI_Win_allocate(64 * sizeof(long long), sizeof(long long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i],
                            &win[i]));
        MPI_Win_set_errhandler(win[i], MPI_ERRORS_RETURN);
    }

    MPI_T_pvar_handle queued = counter("rma_win_ops_queued", &win[0]), issued = counter("rma_win_ops_issued", &win[0]);
    MPI_T_pvar_handle bytes = counter("rma_win_bytes_sent", &win[0]), packets = counter("rma_win_packets_sent", &win[0]);
    MPI_T_pvar_handle other = counter("rma_win_ops_queued", &win[1]), all = counter("rma_ops_queued", NULL);
    MPI_T_pvar_handle steps = counter("rma_progress_steps", NULL);

    /* Not started: nothing is counted. */
    puts_and_flush(win[0], PUTS);
    CHECK_EQ(tool_value(session, queued), 0);
    CHECK_EQ(tool_value(session, all), 0);

    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    puts_and_flush(win[0], PUTS);
    unsigned long long count = tool_value(session, queued);
    CHECK(count == PUTS || (may_be_direct && count == 0));
    CHECK_EQ(tool_value(session, issued), count);
    if (tool_number("RMA_PACK_FROM") > PUTS) {
        CHECK_EQ(tool_value(session, bytes), count * sizeof(long long));
        CHECK(tool_value(session, packets) >= count);
    } else {
        /* They share packets, in which each may have a head. */
        CHECK(tool_value(session, bytes) >= count * sizeof(long long));
        CHECK(tool_value(session, bytes) <= count * (sizeof(long long) + 12));
        CHECK(tool_value(session, packets) >= (count > 0));
    }
    CHECK_EQ(tool_value(session, other), 0);
    CHECK(tool_value(session, all) >= count);

    /* Stopped, it keeps its value; the other window's go on. */
    OK(MPI_T_pvar_stop(session, queued));
    puts_and_flush(win[0], PUTS);
    puts_and_flush(win[1], PUTS / 2);
    CHECK_EQ(tool_value(session, queued), count);
    CHECK_EQ(tool_value(session, issued), 2 * count);
    CHECK_EQ(tool_value(session, other), count / 2);

    /* Written, set back, and both at once. */
    value = 100;
    OK(MPI_T_pvar_write(session, queued, &value));
    CHECK_EQ(tool_value(session, queued), 100);
    OK(MPI_T_pvar_start(session, queued));
    puts_and_flush(win[0], PUTS);
    CHECK_EQ(tool_value(session, queued), 100 + count);
    value = 1;
    OK(MPI_T_pvar_readreset(session, queued, &value));
    CHECK_EQ(value, 100 + count);
    CHECK_EQ(tool_value(session, queued), 0);
    puts_and_flush(win[0], PUTS);
    CHECK_EQ(tool_value(session, queued), count);
    OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    CHECK_EQ(tool_value(session, queued), 0);
    CHECK_EQ(tool_value(session, issued), 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(tool_value(session, steps) > 0);

    /* A second handle of the same variable counts for itself. */
    MPI_T_pvar_handle second = counter("rma_win_ops_queued", &win[0]);
    OK(MPI_T_pvar_start(session, second));
    puts_and_flush(win[0], 3);
    CHECK_EQ(tool_value(session, second), count == 0 ? 0 : 3);
    OK(MPI_T_pvar_handle_free(session, &second));
    CHECK(second == MPI_T_PVAR_HANDLE_NULL);

    /* Levels and marks. */
    MPI_T_pvar_handle windows = tool_meter(session, "rma_windows", MPI_T_PVAR_CLASS_LEVEL, NULL);
    MPI_T_pvar_handle most = tool_meter(session, "rma_win_ops_in_use_most", MPI_T_PVAR_CLASS_HIGHWATERMARK, &win[0]);
    MPI_T_pvar_handle now = tool_meter(session, "rma_win_ops_in_use", MPI_T_PVAR_CLASS_LEVEL, &win[0]);
    CHECK_EQ(tool_value(session, windows), 2);
    CHECK_EQ(tool_value(session, now), 0);
    value = tool_value(session, most);
    CHECK(value <= PUTS && (value > 0) == (count > 0));
    ANSWERS(MPI_T_pvar_start(session, windows), MPI_T_ERR_PVAR_NO_STARTSTOP);
    ANSWERS(MPI_T_pvar_stop(session, most), MPI_T_ERR_PVAR_NO_STARTSTOP);
    ANSWERS(MPI_T_pvar_write(session, most, &value), MPI_T_ERR_PVAR_NO_WRITE);
    ANSWERS(MPI_T_pvar_reset(session, most), MPI_T_ERR_PVAR_NO_WRITE);
    ANSWERS(MPI_T_pvar_readreset(session, most, &value), MPI_T_ERR_PVAR_NO_WRITE);

    /* Of a window that is gone there is nothing to be had. */
    OK(MPI_Win_free(&win[1]));
    ANSWERS(MPI_T_pvar_read(session, other, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(tool_value(session, windows), 1);
    OK(MPI_T_pvar_handle_free(session, &other));
    OK(MPI_Win_free(&win[0]));
    OK(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    int status = check_end();

    /* The counters of the process stay readable. */
    OK(MPI_T_pvar_session_create(&session));
    steps = counter("rma_progress_steps", NULL);
    OK(MPI_T_pvar_start(session, steps));
    CHECK_EQ(tool_value(session, steps), 0);
    OK(MPI_T_finalize());
    return check_failures == 0 ? status : 1;
}
