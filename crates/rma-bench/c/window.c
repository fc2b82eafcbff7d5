/* What windows cost: making and freeing them, and memory that the library did not allocate. */

#include "bench.h"

#include <string.h>

#define TARGET 1

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

static void run_allocate(void)
{
    static const size_t sizes[] = { KIB, MIB, 16 * MIB };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t bytes = sizes[i];
        struct result result = measure_together("win-allocate", bytes, allocate_and_free, &bytes);

        settle(&result, 1);
    }
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

static void run_create(void)
{
    size_t bytes = 4 * KIB;
    void *base = need_memory(bytes);
    struct created c = { .word = 0 };
    struct result result;

    memset(base, 0, bytes);
    MPI_Win_create(base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &c.window);
    if (my_rank == 0)
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, c.window);
    result = measure_origin("created-put", sizeof c.word, put_and_flush, &c);
    if (my_rank == 0)
        MPI_Win_unlock(TARGET, c.window);
    settle(&result, window_has_word(c.window, base, TARGET, c.word));
    MPI_Win_free(&c.window);
    free_memory(base);
}

static const struct need nothing[] = { { 0 } };
static const struct need creates[] = { NEED(MPI_Win_create), NEED(MPI_Put), NEED(MPI_Win_flush), { 0 } };

const struct bench_case window_cases[] = {
    { "win-allocate", 2, nothing, run_allocate },
    { "created-put", 2, creates, run_create },
    { 0 },
};
