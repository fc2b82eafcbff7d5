/* Accumulates and atomic operations of rank 0 at rank 1, inside one shared lock. */

#include "bench.h"

#include <string.h>

#define TARGET 1
#define RATE_OPERATIONS 1000

struct atomic {
    MPI_Win window;
    int64_t word;     /* what single operations carry */
    int64_t expected; /* the value at the target before the next single operation */
    int is_right;     /* whether every single operation brought the expected value */
    int doubles;      /* length of the two buffers */
    double *ones;
    double *results;
    int64_t done; /* iterations */
};

static void open_epoch(struct atomic *a)
{
    if (my_rank == 0)
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, a->window);
}

static void close_epoch(struct atomic *a)
{
    if (my_rank == 0)
        MPI_Win_unlock(TARGET, a->window);
}

/* The cases on one word of the target; `sum` counts what was added to it. */
static void measure_word(const char *name, size_t words, body_fn body)
{
    struct atomic a = { .word = 1, .is_right = 1 };
    const void *base = make_window(words * sizeof(int64_t), &a.window);
    struct result result;
    int is_right;

    open_epoch(&a);
    result = measure_origin(name, sizeof(int64_t), body, &a);
    close_epoch(&a);
    result.operations = (long)words;
    is_right = window_has_word(a.window, base, TARGET, (uint64_t)a.done);
    settle(&result, is_right && a.is_right);
    MPI_Win_free(&a.window);
}

static void accumulate_and_flush(void *context, long count)
{
    struct atomic *a = context;

    for (long i = 0; i < count; i++) {
        MPI_Accumulate(&a->word, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, MPI_SUM, a->window);
        MPI_Win_flush(TARGET, a->window);
    }
    a->done += count;
}

static void many_accumulates(void *context, long count)
{
    struct atomic *a = context;

    for (long i = 0; i < count; i++) {
        for (MPI_Aint k = 0; k < RATE_OPERATIONS; k++)
            MPI_Accumulate(&a->word, 1, MPI_INT64_T, TARGET, k * (MPI_Aint)sizeof a->word, 1, MPI_INT64_T, MPI_SUM,
                           a->window);
        MPI_Win_flush(TARGET, a->window);
    }
    a->done += count;
}

static void fetch_and_flush(void *context, long count)
{
    struct atomic *a = context;

    for (long i = 0; i < count; i++) {
        int64_t found = -1;

        MPI_Fetch_and_op(&a->word, &found, MPI_INT64_T, TARGET, 0, MPI_SUM, a->window);
        MPI_Win_flush(TARGET, a->window);
        a->is_right &= found == a->expected++;
    }
    a->done += count;
}

static void swap_and_flush(void *context, long count)
{
    struct atomic *a = context;

    for (long i = 0; i < count; i++) {
        int64_t found = -1, next = a->expected + 1;

        MPI_Compare_and_swap(&next, &a->expected, &found, MPI_INT64_T, TARGET, 0, a->window);
        MPI_Win_flush(TARGET, a->window);
        a->is_right &= found == a->expected;
        a->expected = next;
    }
    a->done += count;
}

static void run_accumulate(void)
{
    measure_word("acc", 1, accumulate_and_flush);
}

static void run_accumulate_rate(void)
{
    measure_word("acc-rate", RATE_OPERATIONS, many_accumulates);
}

static void run_fetch(void)
{
    measure_word("fetch-op", 1, fetch_and_flush);
}

static void run_swap(void)
{
    measure_word("cas", 1, swap_and_flush);
}

static void accumulate_doubles(void *context, long count)
{
    struct atomic *a = context;

    for (long i = 0; i < count; i++) {
        MPI_Accumulate(a->ones, a->doubles, MPI_DOUBLE, TARGET, 0, a->doubles, MPI_DOUBLE, MPI_SUM, a->window);
        MPI_Win_flush(TARGET, a->window);
    }
    a->done += count;
}

/* The greatest of what lies there and of ones: once is as good as often. */
static void keep_greatest(void *context, long count)
{
    struct atomic *a = context;

    for (long i = 0; i < count; i++) {
        MPI_Accumulate(a->ones, a->doubles, MPI_DOUBLE, TARGET, 0, a->doubles, MPI_DOUBLE, MPI_MAX, a->window);
        MPI_Win_flush(TARGET, a->window);
    }
    a->done = 1;
}

static void fetch_doubles(void *context, long count)
{
    struct atomic *a = context;

    for (long i = 0; i < count; i++) {
        MPI_Get_accumulate(a->ones, a->doubles, MPI_DOUBLE, a->results, a->doubles, MPI_DOUBLE, TARGET, 0, a->doubles,
                           MPI_DOUBLE, MPI_SUM, a->window);
        MPI_Win_flush(TARGET, a->window);
        a->is_right &= a->results[0] == (double)(a->done + i) && a->results[a->doubles - 1] == a->results[0];
    }
    a->done += count;
}

static void measure_doubles(const char *name, size_t size, body_fn body)
{
    struct atomic a = { .is_right = 1, .doubles = (int)(size / sizeof(double)) };
    const void *base = make_window(size, &a.window);
    struct result result;
    int is_right;

    a.ones = need_memory(size);
    a.results = need_memory(size);
    memset(a.results, 0, size);
    for (int i = 0; i < a.doubles; i++)
        a.ones[i] = 1;
    open_epoch(&a);
    result = measure_origin(name, size, body, &a);
    close_epoch(&a);
    is_right = window_has_doubles(a.window, base, size, TARGET, (double)a.done);
    settle(&result, is_right && a.is_right);
    free_memory(a.ones);
    free_memory(a.results);
    MPI_Win_free(&a.window);
}

static void run_accumulate_doubles(void)
{
    for (const size_t *size = transfer_sizes(); *size; size++)
        measure_doubles("acc-double", *size, accumulate_doubles);
}

static void run_accumulate_greatest(void)
{
    measure_doubles("acc-max", 4 * KIB, keep_greatest);
}

static void run_get_accumulate(void)
{
    for (const size_t *size = transfer_sizes(); *size; size++)
        measure_doubles("get-acc", *size, fetch_doubles);
}

static const struct need accumulates[] = { NEED(MPI_Accumulate), NEED(MPI_Win_flush), { 0 } };
static const struct need fetches[] = { NEED(MPI_Fetch_and_op), NEED(MPI_Win_flush), { 0 } };
static const struct need swaps[] = { NEED(MPI_Compare_and_swap), NEED(MPI_Win_flush), { 0 } };
static const struct need get_accumulates[] = { NEED(MPI_Get_accumulate), NEED(MPI_Win_flush), { 0 } };

const struct bench_case atomic_cases[] = {
    { "acc", 2, accumulates, run_accumulate },
    { "acc-rate", 2, accumulates, run_accumulate_rate },
    { "acc-double", 2, accumulates, run_accumulate_doubles },
    { "acc-max", 2, accumulates, run_accumulate_greatest },
    { "fetch-op", 2, fetches, run_fetch },
    { "cas", 2, swaps, run_swap },
    { "get-acc", 2, get_accumulates, run_get_accumulate },
    { 0 },
};
