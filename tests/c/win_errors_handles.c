/* Every window call with a window that is none: the null handle, a freed one, a handle of another kind, and an unset
 * variable; and with room for its results that is none. No window and no memory changes.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: none, they do not look at freed handles */
#include "check.h"

enum { KINDS = 6, FIRST_UNSET = 4 };

static long in = 1, out = 2, compared = 3;
static MPI_Win wins[KINDS];

#define NONE(call) FAILS(call, MPI_ERR_WIN)

static void operations(MPI_Win win)
{
    MPI_Request request = MPI_REQUEST_NULL;
    NONE(MPI_Put(&in, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    NONE(MPI_Get(&out, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    NONE(MPI_Accumulate(&in, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
    NONE(MPI_Get_accumulate(&in, 1, MPI_LONG, &out, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
    NONE(MPI_Fetch_and_op(&in, &out, MPI_LONG, 0, 0, MPI_SUM, win));
    NONE(MPI_Compare_and_swap(&in, &compared, &out, MPI_LONG, 0, 0, win));
    NONE(MPI_Rput(&in, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &request));
    NONE(MPI_Rget(&out, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &request));
    NONE(MPI_Raccumulate(&in, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win, &request));
    NONE(MPI_Rget_accumulate(&in, 1, MPI_LONG, &out, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win, &request));
    NONE(MPI_Put_c(&in, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    NONE(MPI_Get_c(&out, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    NONE(MPI_Accumulate_c(&in, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
    NONE(MPI_Get_accumulate_c(&in, 1, MPI_LONG, &out, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
    NONE(MPI_Rput_c(&in, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &request));
    NONE(MPI_Rget_c(&out, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &request));
    NONE(MPI_Raccumulate_c(&in, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win, &request));
    NONE(MPI_Rget_accumulate_c(&in, 1, MPI_LONG, &out, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win, &request));
    CHECK(request == MPI_REQUEST_NULL);
}

static void synchronization(MPI_Win win)
{
    int flag = 7;
    NONE(MPI_Win_fence(0, win));
    NONE(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    NONE(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    NONE(MPI_Win_complete(win));
    NONE(MPI_Win_wait(win));
    NONE(MPI_Win_test(win, &flag));
    NONE(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    NONE(MPI_Win_lock_all(0, win));
    NONE(MPI_Win_unlock(0, win));
    NONE(MPI_Win_unlock_all(win));
    NONE(MPI_Win_flush(0, win));
    NONE(MPI_Win_flush_all(win));
    NONE(MPI_Win_flush_local(0, win));
    NONE(MPI_Win_flush_local_all(win));
    NONE(MPI_Win_sync(win));
    CHECK_EQ(flag, 7);
}

static void the_rest(MPI_Win win)
{
    MPI_Win copy = win;
    MPI_Aint size = 7;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    int unit = 7, length = 7, flag = 7, key, value = 0;
    void *base = &key, *found = &key;
    char name[MPI_MAX_OBJECT_NAME] = "as it was";
    NONE(MPI_Win_free(&copy));
    CHECK(copy == win);
    NONE(MPI_Win_attach(win, &in, sizeof in));
    NONE(MPI_Win_detach(win, &in));
    NONE(MPI_Win_shared_query(win, 0, &size, &unit, &base));
    NONE(MPI_Win_get_group(win, &group));
    NONE(MPI_Win_get_info(win, &info));
    NONE(MPI_Win_set_info(win, MPI_INFO_NULL));
    /* The null handle has a name, which is the standard's. */
    if (win != MPI_WIN_NULL)
        NONE(MPI_Win_get_name(win, name, &length));
    NONE(MPI_Win_set_name(win, "another"));
    NONE(MPI_Win_get_errhandler(win, &handler));
    NONE(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    NONE(MPI_Win_call_errhandler(win, MPI_ERR_OTHER));
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL));
    NONE(MPI_Win_get_attr(win, key, &found, &flag));
    NONE(MPI_Win_set_attr(win, key, &value));
    NONE(MPI_Win_delete_attr(win, key));
    OK(MPI_Win_free_keyval(&key));
    CHECK(group == MPI_GROUP_NULL && info == MPI_INFO_NULL && handler == MPI_ERRHANDLER_NULL);
    CHECK(size == 7 && unit == 7 && length == 7 && flag == 7 && base == &key && found == &key);
    CHECK_TEXT(name, "as it was");
}

static void takes_errors_of_communicators(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    CHECK(!"called");
}

static void takes_errors_of_windows(MPI_Win *win, int *code, ...)
{
    (void)win, (void)code;
    CHECK(!"called");
}

/* Good windows, and nowhere to put the answer; keys, infos and handlers that are none. */
static void nowhere(MPI_Win win, MPI_Win dynamic)
{
    MPI_Errhandler of_comm, of_win, stale;
    MPI_Info freed, info;
    MPI_Aint size;
    int unit, key, bad, flag;
    void *base;
    char name[MPI_MAX_OBJECT_NAME];
    FAILS(MPI_Win_free(NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_test(win, NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_get_group(win, NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_get_info(win, NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_get_name(win, NULL, &flag), MPI_ERR_ARG);
    FAILS(MPI_Win_get_name(win, name, NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_set_name(win, NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_get_errhandler(win, NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, NULL, NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_shared_query(win, check_size, &size, &unit, &base), MPI_ERR_RANK);
    FAILS(MPI_Win_shared_query(dynamic, 0, &size, &unit, &base), MPI_ERR_RMA_FLAVOR);
    FAILS(MPI_Win_attach(win, &in, sizeof in), MPI_ERR_RMA_FLAVOR);
    FAILS(MPI_Win_detach(win, &in), MPI_ERR_RMA_FLAVOR);

    OK(MPI_Info_create(&freed));
    info = freed;
    OK(MPI_Info_free(&freed));
    FAILS(MPI_Win_set_info(win, info), MPI_ERR_INFO);
    FAILS(MPI_Win_set_errhandler(win, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
    /* A handler of communicators, and one that was freed. */
    OK(MPI_Comm_create_errhandler(takes_errors_of_communicators, &of_comm));
    FAILS(MPI_Win_set_errhandler(win, of_comm), MPI_ERR_ERRHANDLER);
    OK(MPI_Errhandler_free(&of_comm));
    OK(MPI_Win_create_errhandler(takes_errors_of_windows, &of_win));
    stale = of_win;
    OK(MPI_Errhandler_free(&of_win));
    FAILS(MPI_Win_set_errhandler(win, stale), MPI_ERR_ERRHANDLER);
    FAILS(MPI_Errhandler_free(&stale), MPI_ERR_ERRHANDLER);
    FAILS(MPI_Win_create_errhandler(takes_errors_of_windows, NULL), MPI_ERR_ARG);

    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    int keys[] = {MPI_KEYVAL_INVALID, -17, 123456, key};
    for (int i = 0; i < 4; i++) {
        FAILS(MPI_Win_set_attr(win, keys[i], &in), MPI_ERR_KEYVAL);
        FAILS(MPI_Win_get_attr(win, keys[i], &base, &flag), MPI_ERR_KEYVAL);
        FAILS(MPI_Win_delete_attr(win, keys[i]), MPI_ERR_KEYVAL);
        bad = keys[i];
        FAILS(MPI_Win_free_keyval(&bad), MPI_ERR_KEYVAL);
        CHECK_EQ(bad, keys[i]);
    }
    OK(MPI_Comm_free_keyval(&key));
    /* The library's own cannot be changed. */
    FAILS(MPI_Win_set_attr(win, MPI_WIN_BASE, &in), MPI_ERR_KEYVAL);
    FAILS(MPI_Win_delete_attr(win, MPI_WIN_SIZE), MPI_ERR_KEYVAL);
    FAILS(MPI_Win_get_attr(win, MPI_WIN_BASE, NULL, &flag), MPI_ERR_ARG);
    FAILS(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, NULL), MPI_ERR_ARG);
}

/* Creation, with the same wrong argument on all ranks. */
static void creation(void)
{
    MPI_Win win = MPI_WIN_NULL;
    MPI_Info info, freed;
    void *base = &win;
    OK(MPI_Info_create(&freed));
    info = freed;
    OK(MPI_Info_free(&freed));
    FAILS(MPI_Win_create(&in, -8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
    FAILS(MPI_Win_allocate(-8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_SIZE);
    FAILS(MPI_Win_allocate_shared(-8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_SIZE);
    int units[] = {0, -3};
    for (int i = 0; i < 2; i++) {
        FAILS(MPI_Win_create(&in, 8, units[i], MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
        FAILS(MPI_Win_allocate(8, units[i], MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_DISP);
        FAILS(MPI_Win_allocate_shared(8, units[i], MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_DISP);
    }
    FAILS(MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_BASE);
    FAILS(MPI_Win_create(&in, 8, 1, info, MPI_COMM_WORLD, &win), MPI_ERR_INFO);
    FAILS(MPI_Win_allocate(8, 1, info, MPI_COMM_WORLD, &base, &win), MPI_ERR_INFO);
    FAILS(MPI_Win_allocate_shared(8, 1, info, MPI_COMM_WORLD, &base, &win), MPI_ERR_INFO);
    FAILS(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win), MPI_ERR_INFO);
    FAILS(MPI_Win_create(&in, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    FAILS(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &base, &win), MPI_ERR_COMM);
    FAILS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    FAILS(MPI_Win_create(&in, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, NULL, &win), MPI_ERR_ARG);
    FAILS(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    CHECK(win == MPI_WIN_NULL && base == &win);
    FAILS(MPI_Alloc_mem(-1, MPI_INFO_NULL, &base), MPI_ERR_SIZE);
    FAILS(MPI_Alloc_mem(8, info, &base), MPI_ERR_INFO);
    FAILS(MPI_Alloc_mem(8, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    CHECK(base == &win);
    FAILS(MPI_Free_mem(&in), MPI_ERR_BASE);
}

static void from_each(int first)
{
    for (int i = first; i < KINDS; i++)
        operations(wins[i]), synchronization(wins[i]), the_rest(wins[i]);
}

int main(int argc, char **argv)
{
    MPI_Win win, dynamic, stale;
    long *memory;
    check_begin(&argc, &argv);
    check_errors_return();
    /* Before there is a window, while there is one, and, with the others, when it is gone. */
    wins[4] = (MPI_Win)0, wins[5] = (MPI_Win)(intptr_t)1;
    from_each(FIRST_UNSET);
    OK(MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &stale));
    wins[0] = MPI_WIN_NULL, wins[1] = stale;
    OK(MPI_Win_lock_all(0, stale));
    from_each(FIRST_UNSET);
    OK(MPI_Win_unlock_all(stale));
    OK(MPI_Win_free(&stale));
    wins[2] = (MPI_Win)MPI_COMM_WORLD, wins[3] = (MPI_Win)(intptr_t)-5;
    from_each(0);
    OK(MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN));
    nowhere(win, dynamic);
    creation();
    CHECK(in == 1 && out == 2 && compared == 3);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&in, 1, MPI_LONG, check_rank, 0, 1, MPI_LONG, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(memory[0], 1);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_free(&dynamic));
    return check_end();
}
