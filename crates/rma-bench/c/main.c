/* The command line, and the run through the cases. What leaves the program is described in bench.h.
 *
 *   rma-bench [--cases NAME,NAME…] [--quick] [--sample-us N] [--samples N] [--limit-s N]    under a launcher
 *   rma-bench --raw [...]                                                                   limits, without MPI
 *   rma-bench --list                                                                        names and least ranks */

#include "bench.h"
#include "raw.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct settings settings = { .sample_ns = 5e6, .samples = 7, .quick = 0, .limit_s = 30 };
int my_rank;
int rank_count;

static const struct bench_case *const tables[] = { transfer_cases, scattered_cases, atomic_cases,
                                                   synchronization_cases, contention_cases, fairness_cases, window_cases,
                                                   mix_cases, message_cases, neighbor_cases, notify_cases, idle_cases,
                                                   thread_cases };
#define TABLES (sizeof tables / sizeof *tables)

/* What every case needs, besides what it lists. */
static const struct need basics[] = { NEED(MPI_Win_allocate), NEED(MPI_Win_free), NEED(MPI_Win_lock),
                                      NEED(MPI_Win_unlock), { 0 } };

static char overrun[160];

/* What MPI has granted. */
static int has_threads;

static void on_overrun(int signal)
{
    (void)signal;
    if (my_rank == 0) {
        ssize_t ignored = write(STDOUT_FILENO, overrun, strlen(overrun));
        (void)ignored;
    }
    _exit(124);
}

/* From now on the case has so long. The other ranks wait a little longer, so that rank 0 can say what happened. */
static void limit_time(const char *name)
{
    snprintf(overrun, sizeof overrun, "{\"case\": \"%s\", \"limit\": %d}\n", name, settings.limit_s);
    signal(SIGALRM, on_overrun);
    alarm((unsigned)settings.limit_s + (my_rank ? 2 : 0));
}

static void add_missing(char *text, size_t length, const struct need *needs)
{
    for (; needs->name; needs++)
        if (!needs->address)
            snprintf(text + strlen(text), length - strlen(text), "%s%s", *text ? " " : "", needs->name);
}

static void run_case(const struct bench_case *it)
{
    char missing[512] = "";

    add_missing(missing, sizeof missing, basics);
    add_missing(missing, sizeof missing, it->needs);
    if (it->is_threaded && !has_threads)
        snprintf(missing, sizeof missing, "MPI_THREAD_MULTIPLE");
    if (*missing) {
        print_missing(it->name, missing);
        return;
    }
    limit_time(it->name);
    print_begin(it->name);
    it->run();
    MPI_Barrier(MPI_COMM_WORLD);
    alarm(0);
    print_end(it->name);
}

static const struct bench_case *find_case(const char *name)
{
    for (size_t i = 0; i < TABLES; i++)
        for (const struct bench_case *it = tables[i]; it->name; it++)
            if (strcmp(it->name, name) == 0)
                return it;
    return NULL;
}

static void list_cases(void)
{
    for (size_t i = 0; i < TABLES; i++)
        for (const struct bench_case *it = tables[i]; it->name; it++)
            printf("%s %d\n", it->name, it->least_ranks);
}

/* Runs the named cases, or all but those that need threads. */
static void run_cases(char *names)
{
    for (char *name = names ? strtok(names, ",") : NULL; name; name = strtok(NULL, ",")) {
        const struct bench_case *it = find_case(name);

        if (!it || it->least_ranks > rank_count) {
            fprintf(stderr, "%s: %s\n", name, it ? "needs more ranks" : "no such case");
            MPI_Abort(MPI_COMM_WORLD, 2);
            return;
        }
        run_case(it);
    }
    for (size_t i = 0; i < TABLES && !names; i++)
        for (const struct bench_case *it = tables[i]; it->name; it++)
            if (it->least_ranks <= rank_count && !it->is_threaded)
                run_case(it);
}

/* With threads when the first of the named cases needs them. */
static void init(int *argc, char ***argv, const char *names)
{
    char first[64] = "";
    const struct bench_case *it;
    int granted = MPI_THREAD_SINGLE;

    if (names)
        snprintf(first, sizeof first, "%.*s", (int)strcspn(names, ","), names);
    it = find_case(first);
    if (it && it->is_threaded && MPI_Init_thread)
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &granted);
    else
        MPI_Init(argc, argv);
    has_threads = granted == MPI_THREAD_MULTIPLE;
}

static void run_raw(void)
{
    limit_time("raw");
    raw_memory();
    raw_tcp();
    alarm(0);
}

/* The value of an option that is a number of at least 1. */
static long number(const char *text, long most)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*end || value < 1 || value > most) {
        fprintf(stderr, "%s: a number from 1 to %ld is needed\n", text, most);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "cases", required_argument, NULL, 'c' },   { "quick", no_argument, NULL, 'q' },
        { "sample-us", required_argument, NULL, 't' }, { "samples", required_argument, NULL, 's' },
        { "limit-s", required_argument, NULL, 'l' }, { "raw", no_argument, NULL, 'r' },
        { "list", no_argument, NULL, 'n' },          { 0 },
    };
    char *names = NULL;
    int option, is_raw = 0;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'c': names = optarg; break;
        case 'q': settings.quick = 1; break;
        case 't': settings.sample_ns = 1e3 * (double)number(optarg, 10000000); break;
        case 's': settings.samples = (int)number(optarg, MAX_SAMPLES); break;
        case 'l': settings.limit_s = (int)number(optarg, 3600); break;
        case 'r': is_raw = 1; break;
        case 'n': list_cases(); return 0;
        default: return 2;
        }
    }
    if (is_raw) {
        run_raw();
        return 0;
    }
    init(&argc, &argv, names);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
    print_library();
    run_cases(names);
    limit_time("finalize");
    MPI_Finalize();
    print_end("finalize");
    return 0;
}
