/* What a quantum chemistry code does to its distributed arrays: of a hundred operations, ninety are puts of 10 to 999 bytes,
 * eight are accumulates of 1 to 100 KiB of doubles, and two fetch the next number from a counter at rank 0. Every rank does
 * them, to all other ranks in turn, inside one shared lock of all.
 *
 * Every iteration is the same hundred operations, so that two libraries do the same work. An accumulate and a fetched number
 * are flushed at once, since such codes reuse the buffer or need the number; puts are flushed at the end. */

#include "bench.h"

#include <string.h>

#define OPERATIONS 100
#define LEAST_PUT 10
#define MOST_PUT 999
#define LEAST_SUM (KIB / sizeof(double))
#define MOST_SUM (100 * KIB / sizeof(double))
#define COUNTER_RANK 0
/* A rank's memory: the counter, a place of puts for each origin, and an array that all ranks add to. */
#define PUT_PLACE 1024
#define PUTS_AT ((MPI_Aint)4096)

enum kind { PUT, SUM, FETCH };

struct operation {
    enum kind kind;
    int length; /* bytes of a put, doubles of a sum */
    int target;
};

struct mix {
    MPI_Win window;
    MPI_Aint sums_at;
    struct operation operations[OPERATIONS];
    unsigned char *bytes;
    double *ones;
    int64_t one;
    int64_t found; /* the last number fetched */
    int is_right;
};

/* The same numbers on every machine: a linear congruence, whose upper half is good enough to mix lengths. */
static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static int between(uint64_t *state, size_t least, size_t most)
{
    return (int)(least + next_random(state) % (most - least + 1));
}

/* Eight sums and two fetches, spread evenly among the puts. */
static enum kind kind_of(int index)
{
    if (index % 50 == 49)
        return FETCH;
    return index % 12 == 6 ? SUM : PUT;
}

static void plan(struct mix *m)
{
    uint64_t state = 4711 + (uint64_t)my_rank;

    for (int i = 0; i < OPERATIONS; i++) {
        struct operation *it = &m->operations[i];

        it->kind = kind_of(i);
        it->target = it->kind == FETCH ? COUNTER_RANK : (my_rank + 1 + i % (rank_count - 1)) % rank_count;
        it->length = it->kind == PUT ? between(&state, LEAST_PUT, MOST_PUT) : between(&state, LEAST_SUM, MOST_SUM);
    }
}

static void perform(struct mix *m, const struct operation *it)
{
    int64_t found = -1;

    switch (it->kind) {
    case PUT:
        MPI_Put(m->bytes, it->length, MPI_BYTE, it->target, PUTS_AT + (MPI_Aint)my_rank * PUT_PLACE, it->length, MPI_BYTE,
                m->window);
        return;
    case SUM:
        MPI_Accumulate(m->ones, it->length, MPI_DOUBLE, it->target, m->sums_at, it->length, MPI_DOUBLE, MPI_SUM, m->window);
        break;
    case FETCH:
        MPI_Fetch_and_op(&m->one, &found, MPI_INT64_T, it->target, 0, MPI_SUM, m->window);
        break;
    }
    MPI_Win_flush(it->target, m->window);
    if (it->kind == FETCH) {
        m->is_right &= found > m->found;
        m->found = found;
    }
}

static void run_operations(void *context, long count)
{
    struct mix *m = context;

    for (long i = 0; i < count; i++) {
        for (int k = 0; k < OPERATIONS; k++)
            perform(m, &m->operations[k]);
        MPI_Win_flush_all(m->window);
    }
}

/* How many operations of a kind one iteration of all ranks aims at `target`. */
static double count_at(const struct mix *m, enum kind kind, int target)
{
    int mine = 0, all;

    for (int i = 0; i < OPERATIONS; i++)
        mine += m->operations[i].kind == kind && m->operations[i].target == target;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* The counter has every fetch, the first sum every accumulate, and the places of the other ranks hold their bytes. */
static int is_right(const struct mix *m, const unsigned char *base, double rounds)
{
    int is_right = m->is_right;

    for (int rank = 0; rank < rank_count; rank++) {
        double fetches = rounds * count_at(m, FETCH, rank), sums = rounds * count_at(m, SUM, rank);

        if (rank != my_rank)
            continue;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, m->window);
        is_right &= *(const int64_t *)base == (int64_t)fetches && *(const double *)(base + m->sums_at) == sums;
        for (int origin = 0; origin < rank_count; origin++)
            if (origin != my_rank)
                is_right &= memcmp(base + PUTS_AT + origin * PUT_PLACE, m->bytes, LEAST_PUT) == 0;
        MPI_Win_unlock(my_rank, m->window);
    }
    return is_right;
}

static void run_mix(void)
{
    struct mix m = { .one = 1, .found = -1, .is_right = 1, .sums_at = PUTS_AT + (MPI_Aint)rank_count * PUT_PLACE };
    const unsigned char *base = make_window((size_t)m.sums_at + MOST_SUM * sizeof(double), &m.window);
    struct result result;
    long total;

    plan(&m);
    m.bytes = need_memory(PUT_PLACE);
    memset(m.bytes, 42, PUT_PLACE);
    m.ones = need_memory(MOST_SUM * sizeof(double));
    for (size_t i = 0; i < MOST_SUM; i++)
        m.ones[i] = 1;
    MPI_Win_lock_all(0, m.window);
    result = measure_contended("mix", 0, run_operations, &m, &total);
    MPI_Win_unlock_all(m.window);
    MPI_Barrier(MPI_COMM_WORLD);
    result.operations = (long)OPERATIONS * rank_count;
    settle(&result, is_right(&m, base, (double)total / rank_count));
    free_memory(m.bytes);
    free_memory(m.ones);
    MPI_Win_free(&m.window);
}

static const struct need mixes[] = { NEED(MPI_Put),          NEED(MPI_Accumulate),   NEED(MPI_Fetch_and_op),
                                     NEED(MPI_Win_flush),    NEED(MPI_Win_flush_all), NEED(MPI_Win_lock_all),
                                     NEED(MPI_Win_unlock_all), { 0 } };

const struct bench_case mix_cases[] = {
    { "mix", 2, mixes, run_mix },
    { 0 },
};
