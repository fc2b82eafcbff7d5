/* The text of an error names the call that the program made, in either of its forms.
 *
 * ranks: 1 2
 * peers: not mpich, its words are its own
 * peers: not mpich-abi, its words are its own
 * peers: not openmpi, its words are its own */
#include "check.h"

/* A call of that name fails, and the text of its error says so. */
#define NAMED(name, ...)                                                                       \
    do {                                                                                       \
        char text[MPI_MAX_ERROR_STRING] = "";                                                  \
        int length = 0;                                                                        \
        DOING(#name);                                                                          \
        int code = name(__VA_ARGS__);                                                          \
        CHECK(code != MPI_SUCCESS);                                                            \
        MPI_Error_string(code, text, &length);                                                 \
        if (strstr(text, "; " #name ": ") == NULL)                                             \
            CHECK_SAY("%s says: %s", #name, text);                                             \
    } while (0)

/* Both forms of a call. */
#if MPI_VERSION >= 4
#define BOTH(name, ...)                                                                        \
    do {                                                                                       \
        NAMED(name, __VA_ARGS__);                                                              \
        NAMED(name##_c, __VA_ARGS__);                                                          \
    } while (0)
#else
#define BOTH(name, ...) NAMED(name, __VA_ARGS__)
#endif

enum { WORDS = 8 };

/* Operations at a rank and a displacement where none can be. */
static void operations(MPI_Win win, int rank, MPI_Aint disp, MPI_Datatype kind)
{
    long value[2] = {0}, result[2] = {0}, compare = 0;
    MPI_Request request;
    BOTH(MPI_Put, value, 1, kind, rank, disp, 1, kind, win);
    BOTH(MPI_Get, value, 1, kind, rank, disp, 1, kind, win);
    BOTH(MPI_Accumulate, value, 1, kind, rank, disp, 1, kind, MPI_SUM, win);
    BOTH(MPI_Accumulate, value, 2, kind, rank, disp, 2, kind, MPI_SUM, win);
    BOTH(MPI_Get_accumulate, value, 1, kind, result, 1, kind, rank, disp, 1, kind, MPI_SUM, win);
    BOTH(MPI_Get_accumulate, value, 2, kind, result, 2, kind, rank, disp, 2, kind, MPI_NO_OP, win);
    NAMED(MPI_Fetch_and_op, value, result, kind, rank, disp, MPI_SUM, win);
    NAMED(MPI_Compare_and_swap, value, &compare, result, kind, rank, disp, win);
    BOTH(MPI_Rput, value, 1, kind, rank, disp, 1, kind, win, &request);
    BOTH(MPI_Rget, value, 1, kind, rank, disp, 1, kind, win, &request);
    BOTH(MPI_Raccumulate, value, 1, kind, rank, disp, 1, kind, MPI_SUM, win, &request);
    BOTH(MPI_Rget_accumulate, value, 1, kind, result, 1, kind, rank, disp, 1, kind, MPI_SUM, win, &request);
}

int main(int argc, char **argv)
{
    long *memory, value = 0;
    MPI_Win win, none;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Win_allocate(WORDS * sizeof value, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    /* Outside an epoch. */
    operations(win, 0, 0, MPI_LONG);
    NAMED(MPI_Win_unlock, 0, win);
    NAMED(MPI_Win_unlock_all, win);
    NAMED(MPI_Win_flush, 0, win);
    NAMED(MPI_Win_flush_local, 0, win);
    NAMED(MPI_Win_flush_all, win);
    NAMED(MPI_Win_flush_local_all, win);
    NAMED(MPI_Win_complete, win);
    NAMED(MPI_Win_wait, win);
    /* At no rank. */
    OK(MPI_Win_lock_all(0, win));
    operations(win, check_size, 0, MPI_LONG);
    operations(win, -7, 0, MPI_LONG);
    BOTH(MPI_Put, &value, 1, MPI_LONG, check_size, 0, sizeof value, MPI_BYTE, win);
    BOTH(MPI_Get, &value, sizeof value, MPI_BYTE, check_size, 0, 1, MPI_LONG, win);
    BOTH(MPI_Put, &value, -1, MPI_LONG, 0, 0, -1, MPI_LONG, win);
    BOTH(MPI_Get, NULL, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
    NAMED(MPI_Win_flush, check_size, win);
    NAMED(MPI_Win_flush_local, check_size, win);
    NAMED(MPI_Win_lock_all, 0, win);
    NAMED(MPI_Win_lock, MPI_LOCK_SHARED, 0, 0, win);
    NAMED(MPI_Win_fence, 0, win);
    NAMED(MPI_Win_free, &win);
    /* Outside the window of the own rank, which is known at once. */
    operations(win, check_rank, WORDS, MPI_LONG);
    operations(win, check_rank, -1, MPI_LONG);
    operations(win, check_rank, 0, MPI_DATATYPE_NULL);
    OK(MPI_Win_unlock_all(win));
    NAMED(MPI_Win_lock, MPI_LOCK_SHARED, check_size, 0, win);
    NAMED(MPI_Win_lock, 77, 0, 0, win);
    NAMED(MPI_Win_attach, win, &value, sizeof value);
    NAMED(MPI_Win_detach, win, &value);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_free(&win));
    BOTH(MPI_Win_create, &value, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &none);
    BOTH(MPI_Win_allocate, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &none);
    BOTH(MPI_Win_allocate_shared, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &none);
    return check_end();
}
