/* One call of the direct path, many times: the program that `cargo xtask callgrind` counts the instructions of C calls in.
 *
 * `calls-counted CALL COUNT`. The rank is its own target; the direct path treats every mapped rank alike, and without a second
 * rank the count of instructions is the same in every run. Callgrind collects in one function here, and what it finds in this
 * program does not count: only the library's instructions, from call to return. */
#include <mpi.h>
#if __has_include(<mpix_rma.h>)
#include <mpix_rma.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TARGET = 0, AT = 3, FEW = 8, CHARACTERS = 1000, APART = 2 };

static MPI_Win window;
static long long value = 1, result;
static double values[FEW], results[FEW];
static char characters[APART * CHARACTERS];
static MPI_Datatype every_second;

static int call_put(void)
{
    return MPI_Put(&value, 1, MPI_LONG_LONG, TARGET, AT, 1, MPI_LONG_LONG, window);
}

static int call_put_100th(void)
{
    return MPI_Put(&value, 1, MPI_LONG_LONG, TARGET, AT, 1, MPI_LONG_LONG, window);
}

static int call_put_characters(void)
{
    return MPI_Put(characters, 1, every_second, TARGET, AT, 1, every_second, window);
}

static int call_get(void)
{
    return MPI_Get(&result, 1, MPI_LONG_LONG, TARGET, AT, 1, MPI_LONG_LONG, window);
}

static int call_accumulate(void)
{
    return MPI_Accumulate(&value, 1, MPI_LONG_LONG, TARGET, AT, 1, MPI_LONG_LONG, MPI_SUM, window);
}

static int call_get_accumulate(void)
{
    return MPI_Get_accumulate(&value, 1, MPI_LONG_LONG, &result, 1, MPI_LONG_LONG, TARGET, AT, 1, MPI_LONG_LONG, MPI_SUM,
                              window);
}

static int call_accumulate_8(void)
{
    return MPI_Accumulate(values, FEW, MPI_DOUBLE, TARGET, AT, FEW, MPI_DOUBLE, MPI_SUM, window);
}

static int call_get_accumulate_8(void)
{
    return MPI_Get_accumulate(values, FEW, MPI_DOUBLE, results, FEW, MPI_DOUBLE, TARGET, AT, FEW, MPI_DOUBLE, MPI_SUM,
                              window);
}

static int call_fetch_and_op(void)
{
    return MPI_Fetch_and_op(&value, &result, MPI_LONG_LONG, TARGET, AT, MPI_SUM, window);
}

static int call_compare_and_swap(void)
{
    long long expected = 0;
    return MPI_Compare_and_swap(&value, &expected, &result, MPI_LONG_LONG, TARGET, AT, window);
}

#ifdef MPIX_HAVE_RMA_NOTIFICATION
static int call_put_notify(void)
{
    return MPIX_Put_notify(&value, 1, MPI_LONG_LONG, TARGET, AT, 1, MPI_LONG_LONG, 0, window);
}

/* For what is there. */
static int call_wait_notify(void)
{
    MPI_Count reached;
    return MPIX_Win_wait_notify(window, 0, 0, &reached);
}
#endif

static int call_flush(void)
{
    return MPI_Win_flush(TARGET, window);
}

static int call_lock_unlock(void)
{
    int code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window);
    return code != MPI_SUCCESS ? code : MPI_Win_unlock(TARGET, window);
}

static int call_comm_rank(void)
{
    int rank;
    return MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

static const struct {
    const char *name;
    int (*call)(void);
    int is_locked;
    int windows; /* that are made before the one in use */
} calls[] = {
    {"put", call_put, 1, 0},
    {"put_100th", call_put_100th, 1, 99},
    {"put_characters", call_put_characters, 1, 0},
    {"get", call_get, 1, 0},
    {"accumulate", call_accumulate, 1, 0},
    {"get_accumulate", call_get_accumulate, 1, 0},
    {"accumulate_8", call_accumulate_8, 1, 0},
    {"get_accumulate_8", call_get_accumulate_8, 1, 0},
    {"fetch_and_op", call_fetch_and_op, 1, 0},
    {"compare_and_swap", call_compare_and_swap, 1, 0},
#ifdef MPIX_HAVE_RMA_NOTIFICATION
    {"put_notify", call_put_notify, 1, 0},
    {"wait_notify", call_wait_notify, 1, 0},
#endif
    {"flush", call_flush, 1, 0},
    {"lock_unlock", call_lock_unlock, 0, 0},
    {"comm_rank", call_comm_rank, 0, 0},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(argv[1], calls[i].name) != 0)
            continue;
        long long *memory;
        long count = atol(argv[2]);
        MPI_Init(&argc, &argv);
        MPI_Win *earlier = calloc(calls[i].windows + 1, sizeof *earlier);
        for (int k = 0; k < calls[i].windows; k++)
            MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &earlier[k]);
        MPI_Type_vector(CHARACTERS, 1, APART, MPI_CHAR, &every_second);
        MPI_Type_commit(&every_second);
        MPI_Win_allocate(AT * sizeof value + sizeof characters, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
#ifdef MPIX_HAVE_RMA_NOTIFICATION
        MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 1);
#endif
        if (calls[i].is_locked)
            MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window);
        for (long n = 0; n < count; n++)
            if (calls[i].call() != MPI_SUCCESS)
                return 1;
        if (calls[i].is_locked)
            MPI_Win_unlock(TARGET, window);
        MPI_Win_free(&window);
        for (int k = 0; k < calls[i].windows; k++)
            MPI_Win_free(&earlier[k]);
        free(earlier);
        MPI_Type_free(&every_second);
        return MPI_Finalize();
    }
    fprintf(stderr, "usage: calls-counted CALL COUNT, where CALL is one of");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        fprintf(stderr, " %s", calls[i].name);
    fprintf(stderr, "\n");
    return 2;
}
