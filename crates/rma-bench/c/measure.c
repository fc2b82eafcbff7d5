/* Measuring: warm-up, number of iterations, samples.
 *
 * Every case and size finds its own number of iterations: it is run in growing rounds, which warm it up, until a round
 * takes as long as a sample shall take. Then samples are taken with that number. What is slower than a sample is repeated
 * once per sample, and no more than MIN_SAMPLES times once the time for the case is used up. */

#include "bench.h"

#include <time.h>

#define MIN_SAMPLES 3
/* Warm-up goes on for at least so many samples' time: caches, branch predictors, the peer's wake-up, the CPU's clock. */
#define WARM_SAMPLES 2.0
/* From one round of warm-up to the next. */
#define MOST_GROWTH 10.0
/* What all samples of one case and size may take, in samples' times per sample: more when iterations are slow. */
#define PATIENCE 4.0
/* Contended cases and threads: time slices of the scheduler are milliseconds, and a sample holds many of them. */
#define CONTENDED_FACTOR 10.0

double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Decides how many iterations come next. */
struct pacing {
    struct result *result;
    double sample_ns;
    long count;
    int is_warm;
    long rounds;       /* of warm-up */
    long long_rounds;  /* those at its end that took about a sample's time */
    double fastest_ns; /* of an iteration */
    double spent_ns;
};

static void warm_up(struct pacing *pacing, double round_ns)
{
    double target_ns = pacing->sample_ns;
    double each_ns = round_ns / (double)pacing->count;
    double expected_ns, growth;

    pacing->spent_ns += round_ns;
    if (pacing->rounds++ == 0 || each_ns < pacing->fastest_ns)
        pacing->fastest_ns = each_ns;
    expected_ns = pacing->fastest_ns * (double)pacing->count;
    pacing->long_rounds = expected_ns > 0.5 * target_ns ? pacing->long_rounds + 1 : 0;
    /* A process that lost its core once must not make the case look slow: two rounds in a row have to be long. */
    if (pacing->long_rounds == 1)
        return;
    growth = expected_ns > 0 ? target_ns / expected_ns : MOST_GROWTH;
    pacing->count = (long)((double)pacing->count * (growth < MOST_GROWTH ? growth : MOST_GROWTH));
    if (pacing->count < 1)
        pacing->count = 1;
    if (pacing->long_rounds > 1 && pacing->spent_ns >= WARM_SAMPLES * target_ns) {
        pacing->is_warm = 1;
        pacing->spent_ns = 0;
        pacing->result->iterations = pacing->count;
    }
}

/* How many iterations to run now, after a round that took `round_ns`; 0: enough. */
static long next_count(struct pacing *pacing, double round_ns)
{
    struct result *result = pacing->result;

    if (pacing->count == 0) {
        pacing->count = 1;
    } else if (!pacing->is_warm) {
        warm_up(pacing, round_ns);
    } else {
        double patience_ns = PATIENCE * settings.samples * pacing->sample_ns;

        result->samples[result->count++] = round_ns / (double)pacing->count;
        pacing->spent_ns += round_ns;
        if (result->count >= settings.samples
            || (result->count >= MIN_SAMPLES && pacing->spent_ns > patience_ns))
            return 0;
    }
    return pacing->count;
}

static struct result empty_result(const char *name, size_t size)
{
    struct result result = { .name = name, .size = size, .ranks = rank_count, .operations = 1 };
    return result;
}

static struct result measure_one_rank(const char *name, size_t size, body_fn body, void *context, double sample_ns)
{
    struct result result = empty_result(name, size);
    struct pacing pacing = { .result = &result, .sample_ns = sample_ns };
    long count;
    double round_ns = 0;

    while ((count = next_count(&pacing, round_ns)) > 0) {
        double start_ns = now_ns();
        body(context, count);
        round_ns = now_ns() - start_ns;
    }
    return result;
}

/* Without any other rank. */
struct result measure_here(const char *name, size_t size, body_fn body, void *context)
{
    return measure_one_rank(name, size, body, context, settings.sample_ns);
}

static struct result measure_served(const char *name, size_t size, body_fn body, void *context, double sample_ns)
{
    struct result result = empty_result(name, size);

    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0)
        result = measure_one_rank(name, size, body, context, sample_ns);
    MPI_Barrier(MPI_COMM_WORLD);
    return result;
}

/* Rank 0 measures; the others serve it from a barrier. */
struct result measure_origin(const char *name, size_t size, body_fn body, void *context)
{
    return measure_served(name, size, body, context, settings.sample_ns);
}

/* The same, of a body that starts threads: one that gets no core waits for a time slice, as long as a sample elsewhere. */
struct result measure_threads(const char *name, size_t size, body_fn body, void *context)
{
    return measure_served(name, size, body, context, CONTENDED_FACTOR * settings.sample_ns);
}

/* All ranks run the body the same number of times; the time is rank 0's. */
struct result measure_together(const char *name, size_t size, body_fn body, void *context)
{
    struct result result = empty_result(name, size);
    struct pacing pacing = { .result = &result, .sample_ns = settings.sample_ns };
    double round_ns = 0;

    for (;;) {
        long count = my_rank == 0 ? next_count(&pacing, round_ns) : 0;
        double start_ns;

        MPI_Bcast(&count, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        if (count == 0)
            return result;
        MPI_Barrier(MPI_COMM_WORLD);
        start_ns = now_ns();
        body(context, count);
        round_ns = now_ns() - start_ns;
    }
}

/* All ranks run the body the same number of times, each at its own speed: the time is from the first start to the last end,
 * so a rank that starves costs what it makes the others wait. */
struct result measure_contended(const char *name, size_t size, body_fn body, void *context, long *total)
{
    struct result result = empty_result(name, size);
    struct pacing pacing = { .result = &result, .sample_ns = CONTENDED_FACTOR * settings.sample_ns };
    double round_ns = 0;

    *total = 0;
    result.operations = rank_count;
    for (;;) {
        long count = my_rank == 0 ? next_count(&pacing, round_ns) : 0;
        double mine[2], span[2];

        MPI_Bcast(&count, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        if (count == 0)
            return result;
        MPI_Barrier(MPI_COMM_WORLD);
        /* The clock is the same for all processes of a machine. */
        mine[0] = -now_ns();
        body(context, count);
        mine[1] = now_ns();
        MPI_Allreduce(mine, span, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        round_ns = span[0] + span[1];
        *total += count * rank_count;
    }
}
