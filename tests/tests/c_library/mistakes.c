/* The mistakes of docs/mistakes.md, one after the other, on two ranks. Rank 0 prints a line for each: MPI_Error_string. */
#include <mpi.h>
#include <stdio.h>

enum { WORDS = 8 };

static MPI_Win win;
static int rank;

static void says(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    puts(text);
}

static void synchronization(long *value)
{
    MPI_Request request;
    if (rank == 0) {
        says(MPI_Put(value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
        says(MPI_Win_flush(1, win));
        says(MPI_Win_wait(win));
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        says(MPI_Put(value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
        says(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        says(MPI_Win_fence(0, win));
        MPI_Win_unlock(1, win);
    }
    MPI_Win_fence(0, win);
    if (rank == 0) {
        says(MPI_Rput(value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win, &request));
        MPI_Put(value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
        says(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

static void arguments(long *value)
{
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_LONG, &pair);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    says(MPI_Put(value, 1, MPI_LONG, 1, 8 * sizeof *value, 1, MPI_LONG, win));
    says(MPI_Get_accumulate(value, 2, MPI_LONG, value, 2, MPI_LONG, 1, 0, 2, MPI_LONG, MPI_SUM, win));
    says(MPI_Put(value, 2, MPI_LONG, 1, 0, 1, MPI_LONG, win));
    says(MPI_Accumulate(value, 2, MPI_INT, 1, 0, 1, MPI_LONG, MPI_SUM, win));
    says(MPI_Put(value, 1, pair, 1, 0, 1, pair, win));
    MPI_Win_unlock(1, win);
    MPI_Type_free(&pair);
}

int main(int argc, char **argv)
{
    long *memory, value[WORDS] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    synchronization(value);
    if (rank == 0)
        arguments(value);
    MPI_Win freed = win;
    MPI_Win_free(&win);

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Put(value, 1, MPI_LONG, 1, 16, 1, MPI_LONG, win);
        says(MPI_Win_unlock(1, win));
        says(MPI_Put(value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, freed));
    }
    MPI_Win_free(&win);
    return MPI_Finalize();
}
