/* A variable that must be the same in all processes and is not: no window is made, on any rank, and the error names the
 * variable and both values. Where it is the same again, nothing is wrong.
 *
 * ranks: 2 3
 * peers: none, the variable is this library's */
#include "check.h"

int main(int argc, char **argv)
{
    const char *rank = getenv("PMI_RANK");
    int is_last = rank != NULL && atoi(rank) == 1, length, code;
    char text[MPI_MAX_ERROR_STRING] = "";
    long *memory = NULL;
    MPI_Win win = MPI_WIN_NULL;
    setenv("RMA_FENCE_PACKETS", is_last ? "0" : "2", 1);
    check_begin(&argc, &argv);
    check_errors_return();
    DOING("MPI_Win_allocate");
    code = MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    FAILS(code, MPI_ERR_OTHER);
    CHECK(win == MPI_WIN_NULL);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, is_last ? "RMA_FENCE_PACKETS is 0 on this rank and 2" : "RMA_FENCE_PACKETS is 2 on this rank") != NULL);
    FAILS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_OTHER);
    CHECK(win == MPI_WIN_NULL);
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &win));
    OK(MPI_Win_free(&win));
    return check_end();
}
