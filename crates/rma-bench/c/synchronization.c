/* Epochs that are opened and closed each time: exclusive lock, fences, post/start/complete/wait; and a put to a target
 * that computes. */

#include "bench.h"

#include <time.h>

#define TARGET 1
/* How long the target of the passive put stays away from the library, and how long after that began the put is made. */
#define AWAY_NS 200e6
#define HEAD_START_NS 10e6

struct epochs {
    MPI_Win window;
    MPI_Group partner;
    uint64_t word;
    uint64_t *local; /* what a put of several words takes them from */
    int bytes;
};

static void put_word(struct epochs *e)
{
    e->word++;
    MPI_Put(&e->word, sizeof e->word, MPI_BYTE, TARGET, 0, sizeof e->word, MPI_BYTE, e->window);
}

static void lock_put_unlock(void *context, long count)
{
    struct epochs *e = context;

    for (long i = 0; i < count; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, e->window);
        e->local[0]++;
        MPI_Put(e->local, e->bytes, MPI_BYTE, TARGET, 0, e->bytes, MPI_BYTE, e->window);
        MPI_Win_unlock(TARGET, e->window);
    }
}

static void lock_all_put_unlock_all(void *context, long count)
{
    struct epochs *e = context;

    for (long i = 0; i < count; i++) {
        MPI_Win_lock_all(0, e->window);
        e->local[0]++;
        MPI_Put(e->local, e->bytes, MPI_BYTE, TARGET, 0, e->bytes, MPI_BYTE, e->window);
        MPI_Win_unlock_all(e->window);
    }
}

static void measure_lock(const char *name, size_t size, body_fn body)
{
    struct epochs e = { .bytes = (int)size };
    const void *base = make_window(size, &e.window);
    struct result result;

    e.local = need_memory(size);
    fill_pattern(e.local, size, 0);
    result = measure_origin(name, size, body, &e);
    settle(&result, window_has_pattern(e.window, base, size, TARGET, e.local[0]));
    free_memory(e.local);
    MPI_Win_free(&e.window);
}

static void run_lock(void)
{
    static const size_t sizes[] = { 8, 512, 4 * KIB, 32 * KIB };
    size_t count = settings.quick ? 1 : sizeof sizes / sizeof *sizes;

    for (size_t i = 0; i < count; i++)
        measure_lock("lock-put", sizes[i], lock_put_unlock);
}

static void run_lock_all(void)
{
    measure_lock("lock-all-put", sizeof(uint64_t), lock_all_put_unlock_all);
}

static void fence_put_fence(void *context, long count)
{
    struct epochs *e = context;

    for (long i = 0; i < count; i++) {
        MPI_Win_fence(0, e->window);
        if (my_rank == 0)
            put_word(e);
        MPI_Win_fence(0, e->window);
    }
}

static void run_fence(void)
{
    struct epochs e = { 0 };
    const void *base = make_window(sizeof e.word, &e.window);
    struct result result = measure_together("fence", sizeof e.word, fence_put_fence, &e);

    MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, e.window);
    settle(&result, window_has_word(e.window, base, TARGET, e.word));
    MPI_Win_free(&e.window);
}

static void post_start_complete_wait(void *context, long count)
{
    struct epochs *e = context;

    if (my_rank == 0) {
        for (long i = 0; i < count; i++) {
            MPI_Win_start(e->partner, 0, e->window);
            put_word(e);
            MPI_Win_complete(e->window);
        }
    } else if (my_rank == TARGET) {
        for (long i = 0; i < count; i++) {
            MPI_Win_post(e->partner, 0, e->window);
            MPI_Win_wait(e->window);
        }
    }
}

static void run_pscw(void)
{
    struct epochs e = { 0 };
    const void *base = make_window(sizeof e.word, &e.window);
    int partner = my_rank == 0 ? TARGET : 0;
    struct result result;
    MPI_Group world;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &partner, &e.partner);
    result = measure_together("pscw", sizeof e.word, post_start_complete_wait, &e);
    settle(&result, window_has_word(e.window, base, TARGET, e.word));
    MPI_Group_free(&e.partner);
    MPI_Group_free(&world);
    MPI_Win_free(&e.window);
}

static void compute_for(double duration_ns)
{
    double end_ns = now_ns() + duration_ns;
    volatile double sum = 0;

    while (now_ns() < end_ns)
        sum += 1;
}

/* The samples are taken one by one here: the time of each is one put while rank 1 is away. */
static void run_passive(void)
{
    struct epochs e = { 0 };
    const void *base = make_window(sizeof e.word, &e.window);
    struct result result = { .name = "passive-put", .size = sizeof e.word, .ranks = rank_count, .operations = 1,
                             .iterations = 1 };
    int samples = settings.quick ? 3 : 5;

    for (int sample = -1; sample < samples; sample++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (my_rank == TARGET) {
            compute_for(AWAY_NS);
        } else if (my_rank == 0) {
            struct timespec head_start = { .tv_nsec = (long)HEAD_START_NS };
            double start_ns;

            nanosleep(&head_start, NULL);
            start_ns = now_ns();
            MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, e.window);
            put_word(&e);
            MPI_Win_unlock(TARGET, e.window);
            if (sample >= 0)
                result.samples[result.count++] = now_ns() - start_ns;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    settle(&result, window_has_word(e.window, base, TARGET, e.word));
    MPI_Win_free(&e.window);
}

static const struct need locks[] = { NEED(MPI_Put), { 0 } };
static const struct need locks_of_all[] = { NEED(MPI_Put), NEED(MPI_Win_lock_all), NEED(MPI_Win_unlock_all), { 0 } };
static const struct need fences[] = { NEED(MPI_Put), NEED(MPI_Win_fence), { 0 } };
static const struct need pscw[] = { NEED(MPI_Put),        NEED(MPI_Win_post), NEED(MPI_Win_start),
                                    NEED(MPI_Win_complete), NEED(MPI_Win_wait), NEED(MPI_Comm_group),
                                    NEED(MPI_Group_incl),  NEED(MPI_Group_free), { 0 } };

const struct bench_case synchronization_cases[] = {
    { "lock-put", 2, locks, run_lock },
    { "lock-all-put", 2, locks_of_all, run_lock_all },
    { "fence", 2, fences, run_fence },
    { "pscw", 2, pscw, run_pscw },
    { "passive-put", 2, locks, run_passive },
    { 0 },
};
