/* Puts and gets of rank 0 at rank 1, inside one shared lock: one per flush, many per flush, with gaps. */

#include "bench.h"

#include <string.h>

/* What the bodies below work on. */
struct transfer {
    MPI_Win window;
    uint64_t *local; /* origin of puts, result of gets */
    int bytes;       /* of one operation */
    long per_flush;
    MPI_Datatype type; /* of vector puts */
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

/* A column of a matrix: words, each followed by a gap of a word, on both sides. */

static void vector_put_and_flush(void *context, long count)
{
    struct transfer *t = context;

    for (long i = 0; i < count; i++) {
        t->local[0]++;
        MPI_Put(t->local, 1, t->type, TARGET, 0, 1, t->type, t->window);
        MPI_Win_flush(TARGET, t->window);
    }
}

/* Whether the words arrived, and the gaps are untouched. */
static int has_column(const uint64_t *words, size_t count, uint64_t first)
{
    for (size_t i = 0; i < count; i++)
        if (words[2 * i] != (i ? i : first) || words[2 * i + 1] != 0)
            return 0;
    return 1;
}

static void measure_vector(size_t words)
{
    struct transfer t = { 0 };
    size_t bytes = words * 2 * sizeof(uint64_t);
    const uint64_t *base = make_window(bytes, &t.window);
    uint64_t first;
    struct result result;
    int is_right = 1;

    MPI_Type_vector((int)words, 1, 2, MPI_DOUBLE, &t.type);
    MPI_Type_commit(&t.type);
    t.local = need_memory(bytes);
    for (size_t i = 0; i < words; i++) {
        t.local[2 * i] = i;
        t.local[2 * i + 1] = UINT64_MAX;
    }
    open_epoch(t.window);
    result = measure_origin("vector-put", words * sizeof(uint64_t), vector_put_and_flush, &t);
    close_epoch(t.window);
    first = t.local[0];
    MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (my_rank == TARGET) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, t.window);
        is_right = has_column(base, words, first);
        MPI_Win_unlock(my_rank, t.window);
    }
    settle(&result, is_right);
    free_memory(t.local);
    MPI_Type_free(&t.type);
    MPI_Win_free(&t.window);
}

static void run_vector_put(void)
{
    static const size_t all[] = { 16, 1024, 65536 };
    static const size_t few[] = { 1024 };
    size_t count = settings.quick ? sizeof few / sizeof *few : sizeof all / sizeof *all;

    for (size_t i = 0; i < count; i++)
        measure_vector((settings.quick ? few : all)[i]);
}

static const struct need puts[] = { NEED(MPI_Put), NEED(MPI_Win_flush), { 0 } };
static const struct need request_puts[] = { NEED(MPI_Rput), NEED(MPI_Wait), { 0 } };
static const struct need gets[] = { NEED(MPI_Get), NEED(MPI_Win_flush), { 0 } };
static const struct need vectors[] = { NEED(MPI_Put),         NEED(MPI_Win_flush), NEED(MPI_Type_vector),
                                       NEED(MPI_Type_commit), NEED(MPI_Type_free), { 0 } };

const struct bench_case transfer_cases[] = {
    { "put", 2, puts, run_put },
    { "put-rate", 2, puts, run_put_rate },
    { "rput", 2, request_puts, run_request_put },
    { "get", 2, gets, run_get },
    { "get-rate", 2, gets, run_get_rate },
    { "vector-put", 2, vectors, run_vector_put },
    { 0 },
};
