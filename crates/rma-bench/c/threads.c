/* Several threads of rank 0 put words into places of their own at rank 1. The size of a result is the number of threads.
 *
 * The program asks for MPI_THREAD_MULTIPLE only when this case is the first one that it is told to run: libraries take locks
 * then that the other cases do without. */

#include "bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TARGET 1
#define MOST_THREADS 4
#define PUTS_PER_FLUSH 100
/* Words of a thread: far enough from the next thread's that none shares a cache line. */
#define WORDS 128

struct worker {
    MPI_Win window;
    pthread_t thread;
    long count;
    MPI_Aint place;
    uint64_t words[WORDS];
};

struct team {
    struct worker workers[MOST_THREADS];
    int threads;
};

static void *work(void *context)
{
    struct worker *w = context;

    for (long i = 0; i < w->count; i++) {
        w->words[0]++;
        for (int k = 0; k < PUTS_PER_FLUSH; k++)
            MPI_Put(&w->words[k], sizeof *w->words, MPI_BYTE, TARGET, w->place + k * (MPI_Aint)sizeof *w->words,
                    sizeof *w->words, MPI_BYTE, w->window);
        MPI_Win_flush(TARGET, w->window);
    }
    return NULL;
}

/* Threads are started anew each time; a sample holds so many iterations that this does not count. */
static void work_together(void *context, long count)
{
    struct team *team = context;

    for (int i = 0; i < team->threads; i++) {
        team->workers[i].count = count;
        if (pthread_create(&team->workers[i].thread, NULL, work, &team->workers[i]) != 0) {
            fprintf(stderr, "no thread\n");
            exit(2);
        }
    }
    for (int i = 0; i < team->threads; i++)
        pthread_join(team->workers[i].thread, NULL);
}

static int has_words(const struct team *team, const unsigned char *base)
{
    int is_right = 1;

    for (int i = 0; i < team->threads; i++) {
        uint64_t words[WORDS];

        /* The first word was counted by rank 0's thread. */
        memcpy(words, team->workers[i].words, sizeof words);
        MPI_Bcast(words, PUTS_PER_FLUSH * (int)sizeof *words, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (my_rank == TARGET)
            is_right &= memcmp(base + team->workers[i].place, words, PUTS_PER_FLUSH * sizeof *words) == 0;
    }
    return is_right;
}

static void measure(int threads)
{
    struct team team = { .threads = threads };
    struct result result;
    MPI_Win window;
    const void *base = make_window(MOST_THREADS * sizeof team.workers->words, &window);

    for (int i = 0; i < threads; i++) {
        team.workers[i].window = window;
        team.workers[i].place = i * (MPI_Aint)sizeof team.workers->words;
        fill_pattern(team.workers[i].words, sizeof team.workers->words, 0);
    }
    if (my_rank == 0)
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window);
    result = measure_threads("threads-put", (size_t)threads, work_together, &team);
    if (my_rank == 0)
        MPI_Win_unlock(TARGET, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, window);
    result.operations = (long)threads * PUTS_PER_FLUSH;
    settle(&result, has_words(&team, base));
    MPI_Win_unlock(my_rank, window);
    MPI_Win_free(&window);
}

static void run_threads(void)
{
    for (int threads = 1; threads <= MOST_THREADS; threads *= 2)
        measure(threads);
}

static const struct need threaded_puts[] = { NEED(MPI_Put), NEED(MPI_Win_flush), NEED(MPI_Init_thread), { 0 } };

const struct bench_case thread_cases[] = {
    { "threads-put", 2, threaded_puts, run_threads, .is_threaded = 1 },
    { 0 },
};
