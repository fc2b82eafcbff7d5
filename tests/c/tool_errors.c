/* Wrong arguments of performance variables and categories: each has its code, and no error handler is called.
 *
 * ranks: 1
 * memcheck: yes
 * peers: none, other libraries look at fewer arguments */
#include "tool.h"

int main(int argc, char **argv)
{
    int provided, count, index;
    unsigned long long value;
    MPI_T_pvar_session session, other, stale;
    MPI_T_pvar_handle handle, copy;
    check_begin(&argc, &argv); /* Errors are fatal, so a handler that is called ends the program. */
    ANSWERS(MPI_T_init_thread(42, &provided), MPI_T_ERR_INVALID);
    ANSWERS(MPI_T_init_thread(MPI_THREAD_SINGLE, NULL), MPI_T_ERR_INVALID);
    ANSWERS(MPI_T_pvar_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));

    ANSWERS(MPI_T_pvar_get_num(NULL), MPI_T_ERR_INVALID);
    OK(MPI_T_pvar_get_num(&count));
    ANSWERS(MPI_T_pvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            MPI_T_ERR_INVALID_INDEX);
    OK(MPI_T_pvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    ANSWERS(MPI_T_pvar_get_index("rma_nothing", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_T_ERR_INVALID_NAME);
    ANSWERS(MPI_T_pvar_get_index("rma_windows", MPI_T_PVAR_CLASS_LEVEL, NULL), MPI_T_ERR_INVALID);

    ANSWERS(MPI_T_pvar_session_create(NULL), MPI_T_ERR_INVALID);
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_session_create(&other));
    int steps = tool_pvar("rma_progress_steps", MPI_T_PVAR_CLASS_COUNTER);
    int of_window = tool_pvar("rma_win_ops_queued", MPI_T_PVAR_CLASS_COUNTER);
    ANSWERS(MPI_T_pvar_handle_alloc(session, -1, NULL, &handle, &index), MPI_T_ERR_INVALID_INDEX);
    ANSWERS(MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, steps, NULL, &handle, &index), MPI_T_ERR_INVALID_SESSION);
    ANSWERS(MPI_T_pvar_handle_alloc(session, steps, NULL, NULL, &index), MPI_T_ERR_INVALID);
    ANSWERS(MPI_T_pvar_handle_alloc(session, steps, NULL, &handle, NULL), MPI_T_ERR_INVALID);
    ANSWERS(MPI_T_pvar_handle_alloc(session, of_window, NULL, &handle, &index), MPI_T_ERR_INVALID);
    MPI_Win win = MPI_WIN_NULL;
    ANSWERS(MPI_T_pvar_handle_alloc(session, of_window, &win, &handle, &index), MPI_T_ERR_INVALID_HANDLE);
    MPI_Comm comm = MPI_COMM_WORLD;
    ANSWERS(MPI_T_pvar_handle_alloc(session, of_window, &comm, &handle, &index), MPI_T_ERR_INVALID_HANDLE);

    OK(MPI_T_pvar_handle_alloc(session, steps, NULL, &handle, &index));
    ANSWERS(MPI_T_pvar_read(other, handle, &value), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_pvar_start(other, handle), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_pvar_read(session, MPI_T_PVAR_HANDLE_NULL, &value), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_pvar_write(session, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_pvar_read(session, (MPI_T_pvar_handle)session, &value), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_pvar_read((MPI_T_pvar_session)handle, handle, &value), MPI_T_ERR_INVALID_SESSION);
    ANSWERS(MPI_T_pvar_read(session, handle, NULL), MPI_T_ERR_INVALID);
    ANSWERS(MPI_T_pvar_readreset(session, handle, NULL), MPI_T_ERR_INVALID);
    ANSWERS(MPI_T_pvar_write(session, handle, NULL), MPI_T_ERR_INVALID);
    copy = handle;
    ANSWERS(MPI_T_pvar_handle_free(other, &copy), MPI_T_ERR_INVALID_HANDLE);
    OK(MPI_T_pvar_handle_free(session, &copy));
    copy = handle;
    ANSWERS(MPI_T_pvar_handle_free(session, &copy), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_pvar_read(session, handle, &value), MPI_T_ERR_INVALID_HANDLE);
    OK(MPI_T_pvar_handle_alloc(session, steps, NULL, &handle, &index));
    stale = session;
    OK(MPI_T_pvar_session_free(&session));
    ANSWERS(MPI_T_pvar_read(stale, handle, &value), MPI_T_ERR_INVALID_SESSION);
    ANSWERS(MPI_T_pvar_session_free(&stale), MPI_T_ERR_INVALID_SESSION);
    ANSWERS(MPI_T_pvar_session_free(&session), MPI_T_ERR_INVALID_SESSION);

    ANSWERS(MPI_T_category_get_num(NULL), MPI_T_ERR_INVALID);
    ANSWERS(MPI_T_category_get_index("nothing", &index), MPI_T_ERR_INVALID_NAME);
    ANSWERS(MPI_T_category_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    ANSWERS(MPI_T_category_get_cvars(99, 1, &index), MPI_T_ERR_INVALID_INDEX);
    ANSWERS(MPI_T_category_get_pvars(0, -1, &index), MPI_T_ERR_INVALID);
    OK(MPI_T_category_get_index("engine", &index));
    ANSWERS(MPI_T_category_get_cvars(index, 1, NULL), MPI_T_ERR_INVALID);
    ANSWERS(MPI_T_category_changed(NULL), MPI_T_ERR_INVALID);
    OK(MPI_T_finalize());
    return check_end();
}
