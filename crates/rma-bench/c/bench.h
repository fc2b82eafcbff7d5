/* The benchmark program: what its files share.
 *
 * One program, written to MPI 3, is compiled against every MPI library that is compared. A case is a function that all
 * ranks enter; it makes its window, measures one thing for one or several sizes, looks whether the values are right, and
 * frees everything. Results leave as lines of JSON on the standard output of rank 0, one object per line:
 *
 *   {"library": "..."}                                         which MPI this is, first of all
 *   {"case": "put", "begin": true}                             so that a crash or a hang has a name
 *   {"case": "put", "size": 8, "ranks": 2, "operations": 1,    nanoseconds per iteration, one number per sample;
 *    "iterations": 70000, "median": ..., "min": ...,           operations: how many calls one iteration holds
 *    "max": ..., "samples": [...]}                            size: bytes of an operation, where a case says nothing else
 *   {"case": "put", "size": 8, "error": "..."}                 a wrong value: no number is given
 *   {"case": "pscw", "missing": "MPI_Win_post ..."}            the library has no such call
 *   {"case": "put", "limit": 30}                               not done in time; the job ends
 *   {"case": "put", "end": true}
 *   {"case": "finalize", "end": true}                          MPI_Finalize has returned
 *
 * Errors of MPI calls stay fatal, as they are by default: a job that dies in a case is that case's result. */

#ifndef RMA_BENCH_H
#define RMA_BENCH_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "calls.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define MAX_SAMPLES 64

/* How long to measure; the same for all cases. */
struct settings {
    double sample_ns; /* one sample takes about this long: as many iterations as that needs */
    int samples;      /* samples per case and size; at least MIN_SAMPLES when one iteration takes longer than a sample */
    int quick;        /* fewer sizes */
    int limit_s;      /* a case that takes longer ends the job */
};
extern struct settings settings;

extern int my_rank;
extern int rank_count;

/* What was measured. */
struct result {
    const char *name;
    size_t size;
    int ranks;
    long operations;             /* calls per iteration, of all ranks */
    long iterations;             /* per sample */
    int count;                   /* samples taken */
    double samples[MAX_SAMPLES]; /* nanoseconds per iteration */
};

/* Repeats what is measured `count` times. */
typedef void (*body_fn)(void *context, long count);

/* measure.c: collective calls, except for `measure_here`. */
double now_ns(void);
struct result measure_here(const char *name, size_t size, body_fn body, void *context);
struct result measure_origin(const char *name, size_t size, body_fn body, void *context);
struct result measure_threads(const char *name, size_t size, body_fn body, void *context);
struct result measure_together(const char *name, size_t size, body_fn body, void *context);
/* `total`: how often all ranks together ran the body, warm-up included. */
struct result measure_contended(const char *name, size_t size, body_fn body, void *context, long *total);

/* report.c */
void print_library(void);
void print_begin(const char *name);
void print_end(const char *name);
void print_missing(const char *name, const char *calls);
void print_result(const struct result *result);
/* Collective: prints the result, or an error when any rank says that a value is wrong. */
void settle(const struct result *result, int is_right);

/* A call that a case needs, and its address: null when the library lacks it. */
struct need {
    const char *name;
    void (*address)(void);
};
#define NEED(call) { #call, (void (*)(void))(call) }

struct bench_case {
    const char *name;
    int least_ranks;
    const struct need *needs; /* ends with a null name; MPI_Win_allocate, _free, _lock and _unlock need not be listed */
    void (*run)(void);
    int is_threaded; /* needs MPI_THREAD_MULTIPLE, which is asked for when such a case comes first */
};

/* Tables of cases; each ends with a null name. */
extern const struct bench_case transfer_cases[];
extern const struct bench_case scattered_cases[];
extern const struct bench_case atomic_cases[];
extern const struct bench_case synchronization_cases[];
extern const struct bench_case contention_cases[];
extern const struct bench_case fairness_cases[];
extern const struct bench_case window_cases[];
extern const struct bench_case mix_cases[];
extern const struct bench_case thread_cases[];
extern const struct bench_case message_cases[];
extern const struct bench_case neighbor_cases[];
extern const struct bench_case notify_cases[];
extern const struct bench_case idle_cases[];

/* memory.c: ends with 0. */
const size_t *transfer_sizes(void);
/* How many operations of a size go before one flush in the cases of rates. */
long operations_per_flush(size_t size);

/* A pattern by which a transfer is checked; the first word is a number that tells the last one from the others. */
#define REGION (16 * MIB)
void *need_memory(size_t bytes);
void free_memory(void *memory);
void fill_pattern(uint64_t *words, size_t bytes, uint64_t first);
int has_pattern(const uint64_t *words, size_t bytes, uint64_t first);
/* The memory of a new window of MPI_Win_allocate, cleared; displacements are in bytes. */
void *make_window(size_t bytes, MPI_Win *window);
/* Collective: whether `rank`'s part of the window holds the pattern with the `first` word that rank 0 says. */
int window_has_pattern(MPI_Win window, const void *base, size_t bytes, int rank, uint64_t first);
/* The same for a word, and for doubles that are all the same. */
int window_has_word(MPI_Win window, const void *base, int rank, uint64_t word);
int window_has_doubles(MPI_Win window, const void *base, size_t bytes, int rank, double value);

#endif
