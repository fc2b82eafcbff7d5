/* Error handlers of windows: every window starts with a fatal one, whatever the communicator has; errors on the window
 * go to it and not to the communicator's; errors of creation go to the communicator's.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: not mpich-abi, whose 5.0 returns success after a handler of the program */
#include "check.h"

static int win_calls, comm_calls, last_class;
static MPI_Win last_win;

static void on_win(MPI_Win *win, int *code, ...)
{
    win_calls++;
    last_win = *win;
    MPI_Error_class(*code, &last_class);
}

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    comm_calls++;
    MPI_Error_class(*code, &last_class);
}

int main(int argc, char **argv)
{
    MPI_Errhandler comm_handler, win_handler, got;
    MPI_Comm comm;
    MPI_Win win, second = MPI_WIN_NULL;
    int *base, *other, value = 0, class = -1;
    check_begin(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(on_comm, &comm_handler));
    OK(MPI_Comm_set_errhandler(comm, comm_handler));
    OK(MPI_Errhandler_free(&comm_handler));
    OK(MPI_Win_allocate(4 * sizeof *base, sizeof *base, MPI_INFO_NULL, comm, &base, &win));
    OK(MPI_Win_allocate(4 * sizeof *base, sizeof *base, MPI_INFO_NULL, comm, &other, &second));

    OK(MPI_Win_get_errhandler(win, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Win_create_errhandler(on_win, &win_handler));
    OK(MPI_Win_set_errhandler(win, win_handler));
    OK(MPI_Win_set_errhandler(second, MPI_ERRORS_RETURN));
    OK(MPI_Win_get_errhandler(win, &got));
    CHECK(got == win_handler);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&win_handler));

    OK(MPI_Win_fence(0, win));
    int code = MPI_Put(&value, 1, MPI_INT, check_size + 1, 0, 1, MPI_INT, win);
    OK(MPI_Error_class(code, &class));
    CHECK_EQ(class, MPI_ERR_RANK);
    CHECK_EQ(win_calls, 1);
    CHECK_EQ(last_class, MPI_ERR_RANK);
    CHECK(last_win == win);
    code = MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, win);
    CHECK_EQ(win_calls, 2);
    CHECK_EQ(last_class, MPI_ERR_COUNT);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC));
    CHECK_EQ(win_calls, 3);
    CHECK_EQ(last_class, MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, -9, 0, second), MPI_ERR_RANK);
    CHECK_EQ(win_calls, 3);
    CHECK_EQ(comm_calls, 0);

    /* Creation: the window does not exist yet. */
    MPI_Win third = MPI_WIN_NULL;
    code = MPI_Win_create(&value, -1, 1, MPI_INFO_NULL, comm, &third);
    OK(MPI_Error_class(code, &class));
    CHECK_EQ(class, MPI_ERR_SIZE);
    CHECK_EQ(comm_calls, 1);
    CHECK_EQ(win_calls, 3);

    OK(MPI_Win_free(&second));
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    OK(MPI_Comm_free(&comm));
    return check_end();
}
