/* One call on memory of MPI_Win_create, many times: the program of two ranks that `cargo xtask callgrind` counts the instructions of
 * packets in.
 *
 * `created-counted CALL COUNT EACH`. Rank 0 makes COUNT calls and flushes after each EACH of them; rank 1 waits in a barrier, and serves
 * what comes. Callgrind collects in one function here, and what it finds in this program does not count: only the library's
 * instructions, from call to return. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TARGET = 1, MOST = 1000 };

static MPI_Win window;
static MPI_Aint at;
static long long values[MOST];
static MPI_Request requests[MOST];

static int call_put_created(void)
{
    return MPI_Put(&values[at], 1, MPI_LONG_LONG, TARGET, at, 1, MPI_LONG_LONG, window);
}

static int call_rput_created(void)
{
    return MPI_Rput(&values[at], 1, MPI_LONG_LONG, TARGET, at, 1, MPI_LONG_LONG, window, &requests[at]);
}

static int call_get_created(void)
{
    return MPI_Get(&values[at], 1, MPI_LONG_LONG, TARGET, at, 1, MPI_LONG_LONG, window);
}

static int call_fetch_and_op_created(void)
{
    static const long long one = 1;
    return MPI_Fetch_and_op(&one, &values[at], MPI_LONG_LONG, TARGET, at, MPI_SUM, window);
}

static const struct {
    const char *name;
    int (*call)(void);
} calls[] = {
    {"put_created", call_put_created},
    {"rput_created", call_rput_created},
    {"get_created", call_get_created},
    {"fetch_and_op_created", call_fetch_and_op_created},
};

static int repeat(int (*call)(void), long count, long each)
{
    for (long n = 0; n < count; n += each) {
        for (at = 0; at < each; at++)
            if (call() != MPI_SUCCESS)
                return 0;
        MPI_Win_flush(TARGET, window);
        MPI_Waitall((int)each, requests, MPI_STATUSES_IGNORE);
    }
    return 1;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 4 && i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(argv[1], calls[i].name) != 0)
            continue;
        int rank, is_done = 1;
        long count = atol(argv[2]), each = atol(argv[3]);
        long long *memory = calloc(MOST, sizeof *memory);
        if (each < 1 || each > MOST || memory == NULL)
            return 2;
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        for (int k = 0; k < MOST; k++)
            requests[k] = MPI_REQUEST_NULL;
        MPI_Win_create(memory, MOST * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        if (rank != TARGET) {
            MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window);
            /* The lock is held from here on; calls before that wait for it, in some runs. */
            MPI_Put(values, 1, MPI_LONG_LONG, TARGET, 0, 1, MPI_LONG_LONG, window);
            MPI_Win_flush(TARGET, window);
            is_done = repeat(calls[i].call, count, each);
            MPI_Win_unlock(TARGET, window);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_free(&window);
        free(memory);
        MPI_Finalize();
        return is_done ? 0 : 1;
    }
    fprintf(stderr, "usage: created-counted CALL COUNT EACH, where CALL is one of");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        fprintf(stderr, " %s", calls[i].name);
    fprintf(stderr, "\n");
    return 2;
}
