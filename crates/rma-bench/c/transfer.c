/* Puts and gets of rank 0 at rank 1, inside one shared lock: one per flush, many per flush. */

#include "bench.h"

#include <string.h>

/* What the bodies below work on. */
struct transfer {
    MPI_Win window;
    uint64_t *local; /* origin of puts, result of gets */
    int bytes;       /* of one operation */
    long per_flush;
};

#define TARGET 1

static void open_epoch(MPI_Win window)
{
    if (my_rank == 0)
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window);
}

static void close_epoch(MPI_Win window)
{
    if (my_rank == 0)
        MPI_Win_unlock(TARGET, window);
}

static void put_and_flush(void *context, long count)
{
    struct transfer *t = context;

    for (long i = 0; i < count; i++) {
        t->local[0]++;
        MPI_Put(t->local, t->bytes, MPI_BYTE, TARGET, 0, t->bytes, MPI_BYTE, t->window);
        MPI_Win_flush(TARGET, t->window);
    }
}

static void request_put_and_wait(void *context, long count)
{
    struct transfer *t = context;

    for (long i = 0; i < count; i++) {
        MPI_Request request;

        t->local[0]++;
        MPI_Rput(t->local, t->bytes, MPI_BYTE, TARGET, 0, t->bytes, MPI_BYTE, t->window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void many_puts(void *context, long count)
{
    struct transfer *t = context;

    for (long i = 0; i < count; i++) {
        t->local[0]++;
        for (long k = 0; k < t->per_flush; k++)
            MPI_Put((char *)t->local + k * t->bytes, t->bytes, MPI_BYTE, TARGET, (MPI_Aint)k * t->bytes, t->bytes,
                    MPI_BYTE, t->window);
        MPI_Win_flush(TARGET, t->window);
    }
}

static void get_and_flush(void *context, long count)
{
    struct transfer *t = context;

    for (long i = 0; i < count; i++) {
        MPI_Get(t->local, t->bytes, MPI_BYTE, TARGET, 0, t->bytes, MPI_BYTE, t->window);
        MPI_Win_flush(TARGET, t->window);
    }
}

static void many_gets(void *context, long count)
{
    struct transfer *t = context;

    for (long i = 0; i < count; i++) {
        for (long k = 0; k < t->per_flush; k++)
            MPI_Get((char *)t->local + k * t->bytes, t->bytes, MPI_BYTE, TARGET, (MPI_Aint)k * t->bytes, t->bytes,
                    MPI_BYTE, t->window);
        MPI_Win_flush(TARGET, t->window);
    }
}

static void measure_puts(const char *name, size_t size, long per_flush, body_fn body)
{
    struct transfer t = { .bytes = (int)size, .per_flush = per_flush };
    size_t all = size * (size_t)per_flush;
    void *base = make_window(all, &t.window);
    struct result result;
    int is_right;

    t.local = need_memory(all);
    fill_pattern(t.local, all, 0);
    open_epoch(t.window);
    result = measure_origin(name, size, body, &t);
    close_epoch(t.window);
    result.operations = per_flush;
    is_right = window_has_pattern(t.window, base, all, TARGET, t.local[0]);
    settle(&result, is_right);
    free_memory(t.local);
    MPI_Win_free(&t.window);
}

static void measure_gets(const char *name, size_t size, long per_flush, body_fn body)
{
    struct transfer t = { .bytes = (int)size, .per_flush = per_flush };
    size_t all = size * (size_t)per_flush;
    void *base = make_window(all, &t.window);
    struct result result;

    t.local = need_memory(all);
    memset(t.local, 0, all);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, t.window);
    fill_pattern(base, all, 4711);
    MPI_Win_unlock(my_rank, t.window);
    MPI_Barrier(MPI_COMM_WORLD);
    open_epoch(t.window);
    result = measure_origin(name, size, body, &t);
    close_epoch(t.window);
    result.operations = per_flush;
    settle(&result, my_rank != 0 || has_pattern(t.local, all, 4711));
    free_memory(t.local);
    MPI_Win_free(&t.window);
}

static void run_put(void)
{
    for (const size_t *size = transfer_sizes(); *size; size++)
        measure_puts("put", *size, 1, put_and_flush);
}

static void run_put_rate(void)
{
    for (const size_t *size = transfer_sizes(); *size; size++)
        measure_puts("put-rate", *size, operations_per_flush(*size), many_puts);
}

static void run_request_put(void)
{
    measure_puts("rput", sizeof(uint64_t), 1, request_put_and_wait);
}

static void run_get(void)
{
    for (const size_t *size = transfer_sizes(); *size; size++)
        measure_gets("get", *size, 1, get_and_flush);
}

static void run_get_rate(void)
{
    for (const size_t *size = transfer_sizes(); *size; size++)
        measure_gets("get-rate", *size, operations_per_flush(*size), many_gets);
}

static const struct need puts[] = { NEED(MPI_Put), NEED(MPI_Win_flush), { 0 } };
static const struct need request_puts[] = { NEED(MPI_Rput), NEED(MPI_Wait), { 0 } };
static const struct need gets[] = { NEED(MPI_Get), NEED(MPI_Win_flush), { 0 } };

const struct bench_case transfer_cases[] = {
    { "put", 2, puts, run_put },
    { "put-rate", 2, puts, run_put_rate },
    { "rput", 2, request_puts, run_request_put },
    { "get", 2, gets, run_get },
    { "get-rate", 2, gets, run_get_rate },
    { 0 },
};
