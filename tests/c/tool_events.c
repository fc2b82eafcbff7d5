/* Events of the tool interface: their types and source, what functions are told of windows, synchronization and waits for locks, levels of
 * safety, dropped events, and handles. A lock that is held and a pool of one element force what is rare.
 *
 * ranks: 1 2 3
 * peers: none, types of events are each library's own */
#include "tool.h"

enum { TYPES = 5, MADE = 0, FREED, EPOCH, LOCK_WAIT, EXHAUSTED };

static int count[TYPES], last_window[TYPES], last_second[TYPES], dropped, freed;
static MPI_Count last_long[TYPES], last_time;
static MPI_T_event_registration handles[TYPES];

static void hear(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    int *type = data, source = -1;
    struct {
        int window, second;
        MPI_Count number;
    } all = {-1, -1, -1};
    MPI_Count time = -1;
    CHECK(handle == handles[*type]);
    CHECK(safety == MPI_T_CB_REQUIRE_NONE);
    OK(MPI_T_event_copy(event, &all));
    OK(MPI_T_event_read(event, 0, &last_window[*type]));
    CHECK_EQ(all.window, last_window[*type]);
    last_second[*type] = all.second;
    last_long[*type] = all.number;
    OK(MPI_T_event_get_timestamp(event, &time));
    CHECK(time >= last_time);
    last_time = time;
    OK(MPI_T_event_get_source(event, &source));
    CHECK_EQ(source, 0);
    ANSWERS(MPI_T_event_read(event, 7, &source), MPI_T_ERR_INVALID_INDEX);
    count[*type]++;
}

static void drop(MPI_Count number, MPI_T_event_registration handle, int source, MPI_T_cb_safety safety, void *data)
{
    (void)safety, (void)data;
    CHECK(number == 1 && source == 0 && handle == handles[FREED]);
    dropped++;
}

static void gone(MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    (void)handle, (void)safety;
    CHECK(data == &freed);
    freed++;
}

static void lists(void)
{
    const char *names[TYPES] = {"rma_win_made", "rma_win_freed", "rma_epoch", "rma_lock_wait", "rma_pool_exhausted"};
    int num = -1, index, len, elements, order = -1, bind = -1, all[8];
    char name[64], text[256];
    MPI_Count ticks = -1, most = -1, time = -1, later = -1;
    MPI_Datatype types[3];
    MPI_Aint places[3];
    MPI_T_enum words;
    MPI_Info info;
    OK(MPI_T_source_get_num(&num));
    CHECK_EQ(num, 1);
    len = sizeof name;
    OK(MPI_T_source_get_info(0, name, &len, NULL, NULL, (MPI_T_source_order *)&order, &ticks, &most, &info));
    OK(MPI_Info_free(&info));
    CHECK(ticks == 1000000000 && most > ticks && order == MPI_T_SOURCE_UNORDERED);
    OK(MPI_T_source_get_timestamp(0, &time));
    OK(MPI_T_source_get_timestamp(0, &later));
    CHECK(0 <= time && time <= later);
    ANSWERS(MPI_T_source_get_timestamp(1, &time), MPI_T_ERR_INVALID_INDEX);
    OK(MPI_T_event_get_num(&num));
    CHECK_EQ(num, TYPES);
    for (int i = 0; i < TYPES; i++) {
        OK(MPI_T_event_get_index(names[i], &index));
        CHECK_EQ(index, i);
        len = sizeof name;
        int room = sizeof text;
        elements = 3;
        OK(MPI_T_event_get_info(i, name, &len, NULL, types, places, &elements, &words, NULL, text, &room, &bind));
        CHECK_TEXT(name, names[i]);
        CHECK(types[0] == MPI_INT && places[0] == 0);
        CHECK_EQ(elements, i == FREED ? 1 : i >= LOCK_WAIT ? 2 : 3);
        CHECK_EQ(bind, MPI_T_BIND_NO_OBJECT);
        if (i == EPOCH) {
            len = sizeof name;
            OK(MPI_T_enum_get_item(words, 1, &num, name, &len));
            CHECK_TEXT(name, "MPI_Win_lock");
        }
    }
    ANSWERS(MPI_T_event_get_index("none", &index), MPI_T_ERR_INVALID_NAME);
    OK(MPI_T_category_get_index("window", &index));
    OK(MPI_T_category_get_num_events(index, &num));
    CHECK_EQ(num, TYPES);
    OK(MPI_T_category_get_events(index, 8, all));
    CHECK_EQ(all[TYPES - 1], TYPES - 1);
}

/* Before MPI begins, a variable can be written. */
static void set(const char *name, unsigned long long value)
{
    MPI_T_cvar_handle handle = tool_cvar(name);
    OK(MPI_T_cvar_write(handle, &value));
    OK(MPI_T_cvar_handle_free(&handle));
}

/* Rank 1 asks for a lock while rank 0 has it, and waits with more operations than there are elements. */
static void waits(MPI_Win win)
{
    MPI_T_pvar_session session;
    int got[3], flag, epochs = count[EPOCH], exhausted = count[EXHAUSTED];
    if (!tool_has_packets() || check_size == 1)
        return;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Get(got, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        int waited = count[LOCK_WAIT];
        OK(MPI_T_pvar_session_create(&session));
        MPI_T_pvar_handle waiting = tool_meter(session, "rma_win_locks_waited", MPI_T_PVAR_CLASS_COUNTER, &win);
        OK(MPI_T_pvar_start(session, waiting));
        OK(MPI_Send(got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
        while (tool_value(session, waiting) == 0)
            OK(MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK_EQ(count[LOCK_WAIT], waited);
        OK(MPI_Win_unlock(0, win));
        CHECK_EQ(count[LOCK_WAIT], waited + 1);
        CHECK(last_window[LOCK_WAIT] == MPI_Win_toint(win) && last_long[LOCK_WAIT] == 1);
        OK(MPI_T_pvar_handle_free(session, &waiting));
        OK(MPI_T_pvar_session_free(&session));
    } else if (check_rank == 1) {
        OK(MPI_Recv(got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        for (int i = 0; i < 3; i++)
            OK(MPI_Get(&got[i], 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        OK(MPI_Win_unlock(0, win));
        CHECK(count[EXHAUSTED] > exhausted && last_window[EXHAUSTED] == MPI_Win_toint(win) && last_long[EXHAUSTED] > 0);
    }
    CHECK_EQ(count[EPOCH], epochs + (check_rank == 0 ? 3 : check_rank == 1 ? 2 : 0));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Rank 1 asks for the lock of memory that it maps while rank 0 has it, each time longer, until rank 1 comes too early. */
static void waits_in_line(MPI_Win win)
{
    int rounds = 0, waited = 0, here, flag;
    MPI_Comm node;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &here));
    OK(MPI_Comm_free(&node));
    if (tool_has_packets() || check_size == 1 || here < check_size)
        return;
    /* Others may still be about to lock rank 0 for what comes before. What waited for that is told by a call on the window. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int epochs = count[EPOCH], before = count[LOCK_WAIT];
    while (!waited && rounds < 1000) {
        rounds++;
        if (check_rank == 0) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            OK(MPI_Sendrecv(NULL, 0, MPI_INT, 1, 2, NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            for (int i = 0; i < 100 << (rounds < 8 ? rounds : 8); i++)
                OK(MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            OK(MPI_Win_unlock(0, win));
        } else if (check_rank == 1) {
            OK(MPI_Sendrecv(NULL, 0, MPI_INT, 0, 2, NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            waited = count[LOCK_WAIT] - before;
            OK(MPI_Win_unlock(0, win));
        }
        OK(MPI_Bcast(&waited, 1, MPI_INT, 1, MPI_COMM_WORLD));
    }
    CHECK_EQ(waited, 1);
    CHECK_EQ(count[LOCK_WAIT], before + (check_rank == 1));
    CHECK(check_rank != 1 || (last_window[LOCK_WAIT] == MPI_Win_toint(win) && last_long[LOCK_WAIT] == 1));
    CHECK_EQ(count[EPOCH], epochs + (check_rank < 2 ? 2 * rounds : 0));
}

int main(int argc, char **argv)
{
    int provided, numbers[TYPES] = {0, 1, 2, 3, 4}, *base, one = 1;
    MPI_Info info;
    MPI_Win before, win;
    ANSWERS(MPI_T_event_get_num(&provided), MPI_T_ERR_NOT_INITIALIZED);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    lists();
    set("RMA_OP_POOL_WINDOW", 1);
    set("RMA_OP_POOL_GLOBAL", 0);
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &before));
    for (int i = 0; i < TYPES; i++) {
        OK(MPI_T_event_handle_alloc(i, NULL, MPI_INFO_NULL, &handles[i]));
        OK(MPI_T_event_register_callback(handles[i], MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &numbers[i], hear));
    }
    ANSWERS(MPI_T_event_handle_alloc(TYPES, NULL, MPI_INFO_NULL, &handles[0]), MPI_T_ERR_INVALID_INDEX);
    ANSWERS(MPI_T_event_callback_get_info(handles[0], MPI_T_CB_REQUIRE_THREAD_SAFE, &info), MPI_T_ERR_INVALID);
    OK(MPI_T_event_callback_get_info(handles[0], MPI_T_CB_REQUIRE_NONE, &info));
    OK(MPI_Info_free(&info));
    OK(MPI_T_event_handle_get_info(handles[0], &info));
    OK(MPI_T_event_handle_set_info(handles[0], info));
    OK(MPI_T_event_callback_set_info(handles[0], MPI_T_CB_REQUIRE_NONE, info));
    OK(MPI_Info_free(&info));

    OK(MPI_Win_allocate(100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    CHECK(count[MADE] == 1 && last_window[MADE] == MPI_Win_toint(win) && last_second[MADE] == MPI_WIN_FLAVOR_ALLOCATE);
    CHECK_EQ(last_long[MADE], 100);
    OK(MPI_Win_fence(0, win));
    CHECK(count[EPOCH] == 1 && last_window[EPOCH] == MPI_Win_toint(win) && last_second[EPOCH] == 0);
    CHECK(last_long[EPOCH] >= 0);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int i = 0; i < 3; i++) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        CHECK_EQ(last_second[EPOCH], 1);
        OK(MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        CHECK_EQ(last_second[EPOCH], 10);
        OK(MPI_Win_unlock(0, win));
        CHECK_EQ(last_second[EPOCH], 2);
    }
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_unlock_all(win));
    CHECK_EQ(count[EPOCH], 2 + 9 + 2);
    CHECK_EQ(last_second[EPOCH], 4);

    waits(win);
    waits_in_line(win);

    /* One function fewer: its events are dropped, and told. */
    OK(MPI_T_event_register_callback(handles[FREED], MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL));
    OK(MPI_T_event_set_dropped_handler(handles[FREED], drop));
    OK(MPI_Win_free(&before));
    CHECK(dropped == 1 && count[FREED] == 0);
    OK(MPI_T_event_register_callback(handles[FREED], MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, &numbers[FREED], hear));
    int number = MPI_Win_toint(win);
    OK(MPI_Win_free(&win));
    CHECK(dropped == 1 && count[FREED] == 1 && last_window[FREED] == number);
    CHECK(count[EXHAUSTED] == 0 || last_long[EXHAUSTED] > 0);
    CHECK(count[LOCK_WAIT] == 0 || last_long[LOCK_WAIT] > 0);

    for (int i = 0; i < TYPES; i++)
        OK(MPI_T_event_handle_free(handles[i], &freed, i == 0 ? gone : NULL));
    CHECK_EQ(freed, 1);
    ANSWERS(MPI_T_event_handle_free(handles[0], NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_event_read((MPI_T_event_instance)0, 0, &one), MPI_T_ERR_INVALID_HANDLE);
    int epochs = count[EPOCH];
    OK(MPI_Win_allocate(100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
    CHECK_EQ(count[EPOCH], epochs);
    OK(MPI_T_finalize());
    return check_end();
}
