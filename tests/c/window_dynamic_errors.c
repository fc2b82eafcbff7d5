/* Dynamic windows: memory attached twice, detached twice, never attached, or detached before it is used.
 *
 * ranks: 1 2 4
 * peers: not mpich, it does not look whether memory is attached
 * peers: not openmpi, it ends the job
 * memcheck: yes */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Win win = MPI_WIN_NULL;
    static char memory[1000];
    char byte = 1;
    MPI_Aint mine, theirs;
    check_begin(&argc, &argv);
    check_errors_return();
    FAILS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_attach(MPI_WIN_NULL, memory, 1), MPI_ERR_WIN);
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_attach(win, memory + 100, 100));
    FAILS(MPI_Win_attach(win, memory + 100, 100), MPI_ERR_RMA_ATTACH);
    FAILS(MPI_Win_attach(win, memory + 50, 51), MPI_ERR_RMA_ATTACH);
    FAILS(MPI_Win_attach(win, memory + 199, 1), MPI_ERR_RMA_ATTACH);
    FAILS(MPI_Win_attach(win, memory, 1000), MPI_ERR_RMA_ATTACH);
    FAILS(MPI_Win_attach(win, memory, -1), MPI_ERR_SIZE);
    FAILS(MPI_Win_attach(win, NULL, 8), MPI_ERR_BASE);
    OK(MPI_Win_attach(win, memory + 50, 50));
    OK(MPI_Win_attach(win, memory + 200, 0));
    FAILS(MPI_Win_detach(win, memory + 101), MPI_ERR_BASE);
    FAILS(MPI_Win_detach(win, memory), MPI_ERR_BASE);
    OK(MPI_Win_detach(win, memory + 200));

    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Get_address(memory, &mine));
    OK(MPI_Sendrecv(&mine, 1, MPI_AINT, left, 1, &theirs, 1, MPI_AINT, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));

    /* The call or the synchronization behind it raises the error; what is in range still works. */
    static const int places[] = {0, 49, 200, 999};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        int code, class = MPI_SUCCESS;
        char text[MPI_MAX_ERROR_STRING] = "";
        int length;
        OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
        code = MPI_Put(&byte, 1, MPI_CHAR, right, theirs + places[i], 1, MPI_CHAR, win);
        if (code == MPI_SUCCESS)
            code = MPI_Win_flush(right, win);
        MPI_Error_class(code, &class);
        CHECK_EQ(class, MPI_ERR_RMA_RANGE);
        MPI_Error_string(code, text, &length);
        CHECK(strstr(text, "not attached") != NULL);
        OK(MPI_Put(&byte, 1, MPI_CHAR, right, theirs + 99, 1, MPI_CHAR, win));
        OK(MPI_Win_unlock(right, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQ(memory[99], 1);
    CHECK_EQ(memory[0], 0);

    /* After the memory was detached. */
    OK(MPI_Win_detach(win, memory + 50));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
    int code = MPI_Put(&byte, 1, MPI_CHAR, right, theirs + 60, 1, MPI_CHAR, win), class = MPI_SUCCESS;
    int last = MPI_Win_unlock(right, win);
    MPI_Error_class(code == MPI_SUCCESS ? last : code, &class);
    CHECK_EQ(class, MPI_ERR_RMA_RANGE);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQ(memory[60], 0);
    OK(MPI_Win_free(&win));
    return check_end();
}
