/* While there is a window that is reached by packets, calls of messages are what they are without: a receive from nobody, one with a wrong
 * argument whose handler returns; and the text of an error on the window is not that of another one.
 *
 * ranks: 1 2
 * peers: not mpich, texts are its own
 * peers: not mpich-abi, likewise
 * peers: not openmpi, likewise */
#include "check.h"

#include <string.h>

static void returns(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

int main(int argc, char **argv)
{
    long memory[4] = {0}, value = 7;
    char text[MPI_MAX_ERROR_STRING], other[MPI_MAX_ERROR_STRING];
    int len, code, class = -1;
    MPI_Win win;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status = {.MPI_SOURCE = 99, .MPI_TAG = 99};
    MPI_Errhandler handler;
    check_begin(&argc, &argv);
    OK(MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Recv(&value, 1, MPI_LONG, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
    OK(MPI_Comm_create_errhandler(returns, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    MPI_Recv(&value, 1, MPI_LONG, check_size + 3, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Probe(check_size + 3, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mprobe(check_size + 3, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_lock_all(0, win));
    code = MPI_Put(&value, 1, MPI_LONG, check_size + 9, 0, 1, MPI_LONG, win);
    OK(MPI_Error_class(code, &class));
    CHECK_EQ(class, MPI_ERR_RANK);
    OK(MPI_Error_string(code, text, &len));
    code = MPI_Send(&value, 1, MPI_LONG, check_size + 9, 3, MPI_COMM_WORLD);
    OK(MPI_Error_string(code, other, &len));
    CHECK(strstr(text, "MPI_Put") != NULL);
    CHECK(strstr(other, "MPI_Put") == NULL);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Win_free(&win));
    return check_end();
}
