/* What windows cost: making and freeing them, and memory that the library did not allocate. */

#include "bench.h"

#include <string.h>

#define TARGET 1
/* When no further large window is begun. */
#define LARGE_NS 1.5e9

static void allocate_and_free(void *context, long count)
{
    size_t bytes = *(size_t *)context;

    for (long i = 0; i < count; i++) {
        void *base;
        MPI_Win window;

        MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
        MPI_Win_free(&window);
    }
}

static void measure_allocate(size_t bytes)
{
    struct result result = measure_together("win-allocate", bytes, allocate_and_free, &bytes);

    settle(&result, 1);
}

static void run_allocate(void)
{
    measure_allocate(KIB);
    if (!settings.quick)
        measure_allocate(MIB);
    measure_allocate(16 * MIB);
}

/* A case of its own: a library may refuse so much, and that must not cost the small ones. Some take seconds for each window,
 * so the samples are taken one by one here, until there are enough or the time is up. */
static void run_allocate_large(void)
{
    struct result result = { .name = "win-allocate-large", .size = GIB, .ranks = rank_count, .operations = 1,
                             .iterations = 1 };
    int samples = settings.quick ? 3 : 7, go_on = 1;
    size_t bytes = GIB;
    double begin_ns = now_ns();

    for (int sample = -1; go_on; sample++) {
        double start_ns;

        MPI_Barrier(MPI_COMM_WORLD);
        start_ns = now_ns();
        allocate_and_free(&bytes, 1);
        if (sample >= 0)
            result.samples[result.count++] = now_ns() - start_ns;
        go_on = result.count < samples && (result.count == 0 || now_ns() - begin_ns < LARGE_NS);
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    settle(&result, 1);
}

struct created {
    MPI_Win window;
    uint64_t word;
};

static void put_and_flush(void *context, long count)
{
    struct created *c = context;

    for (long i = 0; i < count; i++) {
        c->word++;
        MPI_Put(&c->word, sizeof c->word, MPI_BYTE, TARGET, 0, sizeof c->word, MPI_BYTE, c->window);
        MPI_Win_flush(TARGET, c->window);
    }
}

static void get_and_flush(void *context, long count)
{
    struct created *c = context;

    for (long i = 0; i < count; i++) {
        MPI_Get(&c->word, sizeof c->word, MPI_BYTE, TARGET, 0, sizeof c->word, MPI_BYTE, c->window);
        MPI_Win_flush(TARGET, c->window);
    }
}

static void add_and_flush(void *context, long count)
{
    struct created *c = context;
    const uint64_t one = 1;

    for (long i = 0; i < count; i++) {
        MPI_Fetch_and_op(&one, &c->word, MPI_UINT64_T, TARGET, 0, MPI_SUM, c->window);
        MPI_Win_flush(TARGET, c->window);
    }
    c->word++;
}

/* The word ends as what the target has. */
static void measure_created(const char *name, body_fn body)
{
    size_t bytes = 4 * KIB;
    void *base = need_memory(bytes);
    struct created c = { .word = 0 };
    struct result result;

    memset(base, 0, bytes);
    MPI_Win_create(base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &c.window);
    if (my_rank == 0)
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, c.window);
    result = measure_origin(name, sizeof c.word, body, &c);
    if (my_rank == 0)
        MPI_Win_unlock(TARGET, c.window);
    settle(&result, window_has_word(c.window, base, TARGET, c.word));
    MPI_Win_free(&c.window);
    free_memory(base);
}

static void run_create(void)
{
    measure_created("created-put", put_and_flush);
}

static void run_create_get(void)
{
    measure_created("created-get", get_and_flush);
}

static void run_create_fetch(void)
{
    measure_created("created-fetch", add_and_flush);
}

static const struct need nothing[] = { { 0 } };
static const struct need creates[] = { NEED(MPI_Win_create), NEED(MPI_Put), NEED(MPI_Win_flush), { 0 } };

static const struct need creates_gets[] = { NEED(MPI_Win_create), NEED(MPI_Get), NEED(MPI_Win_flush), { 0 } };
static const struct need creates_fetches[] = { NEED(MPI_Win_create), NEED(MPI_Fetch_and_op), NEED(MPI_Win_flush), { 0 } };

const struct bench_case window_cases[] = {
    { "win-allocate", 2, nothing, run_allocate },
    { "win-allocate-large", 2, nothing, run_allocate_large },
    { "created-put", 2, creates, run_create },
    { "created-get", 2, creates_gets, run_create_get },
    { "created-fetch", 2, creates_fetches, run_create_fetch },
    { 0 },
};
