/* All ranks at rank 0, rank 0 too: at one counter, each at a counter of its own, and at an exclusive lock. */

#include "bench.h"

#define TARGET 0
/* How often every rank adds one by get and put under the lock, to see that it excludes. */
#define INCREMENTS 20
/* From one rank's counter to the next one's: two cache lines, which processors fetch in pairs. */
#define COUNTER_STRIDE 128

struct shared_word {
    MPI_Win window;
    int64_t word;
    MPI_Aint place; /* of the word in rank 0's memory */
    int64_t found;
    int is_right;
};

/* The counter only grows, and every rank sees it grow. */
static void count_up(void *context, long count)
{
    struct shared_word *s = context;

    for (long i = 0; i < count; i++) {
        int64_t found = -1;

        MPI_Fetch_and_op(&s->word, &found, MPI_INT64_T, TARGET, s->place, MPI_SUM, s->window);
        MPI_Win_flush(TARGET, s->window);
        s->is_right &= found > s->found;
        s->found = found;
    }
}

static void run_counter(void)
{
    struct shared_word s = { .word = 1, .found = -1, .is_right = 1 };
    const void *base = make_window(sizeof s.word, &s.window);
    long total;
    struct result result;
    int is_right;

    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, s.window);
    result = measure_contended("counter", sizeof s.word, count_up, &s, &total);
    MPI_Win_unlock(TARGET, s.window);
    is_right = window_has_word(s.window, base, TARGET, (uint64_t)total);
    settle(&result, is_right && s.is_right);
    MPI_Win_free(&s.window);
}

/* Every rank has a cache line of its own, so that only the library can make them wait for each other. */
static void run_counters(void)
{
    struct shared_word s = { .word = 1, .found = -1, .is_right = 1, .place = (MPI_Aint)(my_rank * COUNTER_STRIDE) };
    const unsigned char *base = make_window((size_t)rank_count * COUNTER_STRIDE, &s.window);
    long total;
    struct result result;
    int is_right = 1;

    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, s.window);
    result = measure_contended("counters", sizeof s.word, count_up, &s, &total);
    MPI_Win_unlock(TARGET, s.window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == TARGET) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, s.window);
        for (int rank = 0; rank < rank_count; rank++)
            is_right &= *(const int64_t *)(base + rank * COUNTER_STRIDE) == total / rank_count;
        MPI_Win_unlock(my_rank, s.window);
    }
    settle(&result, is_right && s.is_right);
    MPI_Win_free(&s.window);
}

static void lock_put_unlock(void *context, long count)
{
    struct shared_word *s = context;

    for (long i = 0; i < count; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, s->window);
        MPI_Put(&s->word, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, s->window);
        MPI_Win_unlock(TARGET, s->window);
    }
}

/* Adds ones that are lost when two ranks are inside the lock at a time. */
static void add_under_lock(struct shared_word *s)
{
    for (int i = 0; i < INCREMENTS; i++) {
        int64_t value = 0;

        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, s->window);
        MPI_Get(&value, 1, MPI_INT64_T, TARGET, sizeof value, 1, MPI_INT64_T, s->window);
        MPI_Win_flush(TARGET, s->window);
        value++;
        MPI_Put(&value, 1, MPI_INT64_T, TARGET, sizeof value, 1, MPI_INT64_T, s->window);
        MPI_Win_unlock(TARGET, s->window);
    }
}

static void run_lock(void)
{
    struct shared_word s = { .word = 4711 };
    const int64_t *base = make_window(2 * sizeof s.word, &s.window);
    struct result result;
    int is_right = 1;
    long total;

    add_under_lock(&s);
    result = measure_contended("lock-contended", sizeof s.word, lock_put_unlock, &s, &total);
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == TARGET) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, s.window);
        is_right = base[0] == s.word && base[1] == INCREMENTS * rank_count;
        MPI_Win_unlock(my_rank, s.window);
    }
    settle(&result, is_right);
    MPI_Win_free(&s.window);
}

static const struct need counters[] = { NEED(MPI_Fetch_and_op), NEED(MPI_Win_flush), { 0 } };
static const struct need locks[] = { NEED(MPI_Put), NEED(MPI_Get), NEED(MPI_Win_flush), { 0 } };

const struct bench_case contention_cases[] = {
    { "counter", 2, counters, run_counter },
    { "counters", 2, counters, run_counters },
    { "lock-contended", 2, locks, run_lock },
    { 0 },
};
