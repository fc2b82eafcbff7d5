/* CPU time of a process that has nothing to do: while it waits in the library for a rank that is asleep, and while it is
 * asleep itself, outside the library. Progress threads of a library count. A sample is CPU time of rank 1 in nanoseconds per
 * second, so 10,000,000 are one percent of a core. */

#include "bench.h"

#include <sys/resource.h>
#include <time.h>

#define IDLER 1
#define IDLE_S 0.4

static void sleep_idly(void)
{
    struct timespec time = { .tv_nsec = (long)(IDLE_S * 1e9) };

    nanosleep(&time, NULL);
}

static double cpu_ns(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return 1e9 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
           + 1e3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Rank 0 sleeps and so do all others, or they wait for it in a barrier. */
static void measure(const char *name, int waits)
{
    struct result result = { .name = name, .ranks = rank_count, .operations = 1, .iterations = 1 };
    int samples = settings.quick ? 2 : 5;

    for (int sample = 0; sample < samples; sample++) {
        double start_ns, start_cpu_ns, used[2];

        MPI_Barrier(MPI_COMM_WORLD);
        start_ns = now_ns();
        start_cpu_ns = cpu_ns();
        if (my_rank == 0 || !waits)
            sleep_idly();
        else
            MPI_Barrier(MPI_COMM_WORLD);
        used[0] = cpu_ns() - start_cpu_ns;
        used[1] = now_ns() - start_ns;
        if (my_rank == 0 && waits)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(used, 2, MPI_DOUBLE, IDLER, MPI_COMM_WORLD);
        result.samples[result.count++] = used[0] / used[1] * 1e9;
    }
    settle(&result, 1);
}

/* A window, and contact, before: what is idle is a job that communicates. */
static void run_with_window(const char *name, int waits)
{
    uint64_t word = 4711;
    MPI_Win window;

    make_window(sizeof word, &window);
    if (my_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, IDLER, 0, window);
        MPI_Put(&word, sizeof word, MPI_BYTE, IDLER, 0, sizeof word, MPI_BYTE, window);
        MPI_Win_unlock(IDLER, window);
    }
    measure(name, waits);
    MPI_Win_free(&window);
}

static void run_waiting(void)
{
    run_with_window("idle-wait", 1);
}

static void run_away(void)
{
    run_with_window("idle-away", 0);
}

static const struct need puts[] = { NEED(MPI_Put), { 0 } };

const struct bench_case idle_cases[] = {
    { "idle-wait", 2, puts, run_waiting },
    { "idle-away", 2, puts, run_away },
    { 0 },
};
