/* How long a writer waits behind readers: all ranks but the last repeat epochs of lock_all that take a little more than 1 ms, and
 * the last one takes rank 1's lock alone now and then. A sample is its longest wait of some. Locks that are served in the order
 * of their requests make it wait for one epoch at most, since readers share the lock; a library in which readers pass it makes it
 * wait for ever, and the case does not end. */

#include "bench.h"

#include <time.h>

#define TARGET 1
#define EPOCH_NS 1000000
/* The readers are in the middle of their epochs when the writer comes. */
#define PAUSE_NS 3000000
#define WAITS 5
#define MOST_ROUNDS 5

struct fairness {
    MPI_Win window;
    int64_t told; /* what the writer has put: the number of the round that is over */
    int is_right;
};

static void pause_for(long ns)
{
    struct timespec time = { .tv_nsec = ns };

    nanosleep(&time, NULL);
}

static void read_until(struct fairness *f, int64_t round)
{
    while (f->told < round) {
        int64_t found = -1;

        MPI_Win_lock_all(0, f->window);
        MPI_Get(&found, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, f->window);
        MPI_Win_flush_all(f->window);
        pause_for(EPOCH_NS);
        MPI_Win_unlock_all(f->window);
        f->is_right &= found >= f->told && found <= round;
        f->told = found;
    }
}

static double longest_wait(struct fairness *f, int64_t round)
{
    double longest_ns = 0;

    for (int i = 0; i < WAITS; i++) {
        double start_ns, wait_ns;

        pause_for(PAUSE_NS);
        if (i + 1 == WAITS)
            f->told = round;
        start_ns = now_ns();
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, f->window);
        MPI_Put(&f->told, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, f->window);
        MPI_Win_unlock(TARGET, f->window);
        wait_ns = now_ns() - start_ns;
        longest_ns = wait_ns > longest_ns ? wait_ns : longest_ns;
    }
    return longest_ns;
}

static void run_fairness(void)
{
    struct fairness f = { .is_right = 1 };
    const void *base = make_window(sizeof f.told, &f.window);
    struct result result = { .name = "lock-fair", .size = sizeof f.told, .ranks = rank_count, .operations = 1, .iterations = 1 };
    int rounds = settings.samples < MOST_ROUNDS ? settings.samples : MOST_ROUNDS;
    int writer = rank_count - 1, is_right;

    for (int round = 1; round <= rounds; round++) {
        double wait_ns = 0;

        MPI_Barrier(MPI_COMM_WORLD);
        if (my_rank == writer)
            wait_ns = longest_wait(&f, round);
        else
            read_until(&f, round);
        MPI_Bcast(&wait_ns, 1, MPI_DOUBLE, writer, MPI_COMM_WORLD);
        result.samples[result.count++] = wait_ns;
    }
    is_right = window_has_word(f.window, base, TARGET, (uint64_t)rounds);
    settle(&result, is_right && f.is_right);
    MPI_Win_free(&f.window);
}

static const struct need needs[]
    = { NEED(MPI_Put), NEED(MPI_Get), NEED(MPI_Win_flush_all), NEED(MPI_Win_lock_all), NEED(MPI_Win_unlock_all), { 0 } };

const struct bench_case fairness_cases[] = {
    { "lock-fair", 3, needs, run_fairness },
    { 0 },
};
