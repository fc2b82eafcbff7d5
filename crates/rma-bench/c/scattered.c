/* Puts and accumulates of rank 0 at rank 1 of words that do not lie side by side, on both sides, inside one shared lock. */

#include "bench.h"

#include <string.h>

#define TARGET 1
#define LISTED 1000
#define BLOCK 8
#define ROW (2 * BLOCK)

/* What the bodies below work on: one element of a datatype. */
struct scattered {
    MPI_Win window;
    MPI_Datatype type;
    double *local;
    double done; /* iterations */
};

static void put_and_flush(void *context, long count)
{
    struct scattered *s = context;

    for (long i = 0; i < count; i++) {
        MPI_Put(s->local, 1, s->type, TARGET, 0, 1, s->type, s->window);
        MPI_Win_flush(TARGET, s->window);
    }
    s->done = 1;
}

static void accumulate_and_flush(void *context, long count)
{
    struct scattered *s = context;

    for (long i = 0; i < count; i++) {
        MPI_Accumulate(s->local, 1, s->type, TARGET, 0, 1, s->type, MPI_SUM, s->window);
        MPI_Win_flush(TARGET, s->window);
    }
    s->done += (double)count;
}

/* `places` of `count` words, in ascending order, are those of `type`. The words there are 1 at the origin, and what is between
 * is not; at the target all are 0. */
static void measure(const char *name, body_fn body, MPI_Datatype type, const int *places, size_t count)
{
    struct scattered s = { .type = type };
    size_t words = (size_t)places[count - 1] + 1;
    const double *base = make_window(words * sizeof *base, &s.window);
    struct result result;
    double done;
    int is_right = 1;

    s.local = need_memory(words * sizeof *s.local);
    for (size_t i = 0; i < words; i++)
        s.local[i] = -7;
    for (size_t i = 0; i < count; i++)
        s.local[places[i]] = 1;
    if (my_rank == 0)
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, s.window);
    result = measure_origin(name, count * sizeof(double), body, &s);
    if (my_rank == 0)
        MPI_Win_unlock(TARGET, s.window);
    done = s.done;
    MPI_Bcast(&done, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (my_rank == TARGET) {
        size_t next = 0;

        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, s.window);
        for (size_t i = 0; i < words; i++) {
            int is_covered = (size_t)places[next] == i;

            is_right &= base[i] == (is_covered ? done : 0);
            next += is_covered;
        }
        MPI_Win_unlock(my_rank, s.window);
    }
    settle(&result, is_right);
    free_memory(s.local);
    MPI_Win_free(&s.window);
}

/* A column of a matrix: words, each followed by a gap of a word. */
static void run_vector_put(void)
{
    static const size_t all[] = { 16, 1024, 65536 };
    static const size_t few[] = { 1024 };
    size_t count = settings.quick ? sizeof few / sizeof *few : sizeof all / sizeof *all;

    for (size_t i = 0; i < count; i++) {
        size_t words = (settings.quick ? few : all)[i];
        int *places = need_memory(words * sizeof *places);
        MPI_Datatype type;

        for (size_t k = 0; k < words; k++)
            places[k] = 2 * (int)k;
        MPI_Type_vector((int)words, 1, 2, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        measure("vector-put", put_and_flush, type, places, words);
        MPI_Type_free(&type);
        free_memory(places);
    }
}

/* Words at uneven distances, such as the boundary of an unstructured mesh. */
static void measure_listed(const char *name, body_fn body)
{
    int places[LISTED];
    MPI_Datatype type;

    for (int i = 0, at = 0; i < LISTED; i++) {
        places[i] = at;
        at += 2 + i * i % 5;
    }
    MPI_Type_create_indexed_block(LISTED, 1, places, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    measure(name, body, type, places, LISTED);
    MPI_Type_free(&type);
}

static void run_indexed_put(void)
{
    measure_listed("indexed-put", put_and_flush);
}

static void run_indexed_accumulate(void)
{
    measure_listed("indexed-acc", accumulate_and_flush);
}

/* A square of a matrix. */
static void measure_block(const char *name, body_fn body)
{
    const int sizes[] = { ROW, ROW }, parts[] = { BLOCK, BLOCK }, starts[] = { 3, 5 };
    int places[BLOCK * BLOCK];
    MPI_Datatype type;

    for (int i = 0; i < BLOCK * BLOCK; i++)
        places[i] = (3 + i / BLOCK) * ROW + 5 + i % BLOCK;
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    measure(name, body, type, places, BLOCK * BLOCK);
    MPI_Type_free(&type);
}

static void run_block_put(void)
{
    measure_block("block-put", put_and_flush);
}

static void run_block_accumulate(void)
{
    measure_block("block-acc", accumulate_and_flush);
}

#define TYPED(call, constructor) { NEED(call), NEED(MPI_Win_flush), NEED(constructor), NEED(MPI_Type_commit), NEED(MPI_Type_free), { 0 } }

static const struct need vectors[] = TYPED(MPI_Put, MPI_Type_vector);
static const struct need indexed_puts[] = TYPED(MPI_Put, MPI_Type_create_indexed_block);
static const struct need indexed_accumulates[] = TYPED(MPI_Accumulate, MPI_Type_create_indexed_block);
static const struct need block_puts[] = TYPED(MPI_Put, MPI_Type_create_subarray);
static const struct need block_accumulates[] = TYPED(MPI_Accumulate, MPI_Type_create_subarray);

const struct bench_case scattered_cases[] = {
    { "vector-put", 2, vectors, run_vector_put },
    { "indexed-put", 2, indexed_puts, run_indexed_put },
    { "indexed-acc", 2, indexed_accumulates, run_indexed_accumulate },
    { "block-put", 2, block_puts, run_block_put },
    { "block-acc", 2, block_accumulates, run_block_accumulate },
    { 0 },
};
