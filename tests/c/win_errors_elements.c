/* What errors of accumulates say of datatypes: the elements that they have, not those of blocks without any; and a number of
 * bytes, where one side has none, is no other type.
 *
 * ranks: 1 2
 * peers: none, the words are this library's */
#include "check.h"

static char text[MPI_MAX_ERROR_STRING];

static int has(int code, const char *words)
{
    int length;
    MPI_Error_string(code, text, &length);
    return strstr(text, words) != NULL;
}

int main(int argc, char **argv)
{
    MPI_Datatype mixed, empty, types[] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT};
    int lens[] = {1, 0, 1}, code;
    MPI_Aint places[] = {0, 8, 16};
    long *memory, values[4] = {1, 1, 1, 1};
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Type_create_struct(3, lens, places, types, &mixed));
    OK(MPI_Type_commit(&mixed));
    OK(MPI_Type_contiguous(0, MPI_INT, &empty));
    OK(MPI_Type_commit(&empty));
    OK(MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    memset(memory, 0, 64);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    DOING("MPI_Accumulate of a structure");
    code = MPI_Accumulate(values, 1, MPI_LONG, 0, 0, 1, mixed, MPI_SUM, win);
    FAILS(code, MPI_ERR_TYPE);
    CHECK(has(code, "MPI_INT and MPI_FLOAT") && !has(code, "MPI_DOUBLE"));
    DOING("MPI_Accumulate of nothing");
    code = MPI_Accumulate(values, 1, empty, 0, 0, 1, MPI_LONG, MPI_SUM, win);
    CHECK(code != MPI_SUCCESS && !has(code, "elements of") && has(code, "bytes"));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQ(memory[0], 0);
    OK(MPI_Win_free(&win));
    OK(MPI_Type_free(&mixed));
    OK(MPI_Type_free(&empty));
    return check_end();
}
