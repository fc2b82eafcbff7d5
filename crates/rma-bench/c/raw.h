/* Limits of the machine, measured without MPI by two processes: what no library can beat. */

#ifndef RMA_BENCH_RAW_H
#define RMA_BENCH_RAW_H

#include <stddef.h>
#include <stdint.h>

/* Memory that both processes see. Words that are written by different processes lie on cache lines of their own. */
struct raw_words {
    _Alignas(128) uint64_t stop;
    _Alignas(128) uint64_t ping;
    _Alignas(128) uint64_t pong;
    _Alignas(128) uint64_t counter;
    _Alignas(128) unsigned char last;
};

/* raw.c */
void raw_memory(void);
/* Memory of that length that a child shares. */
void *raw_shared(size_t bytes);
/* Starts the other process, which ends when `serve` returns or when this process dies. */
void raw_fork(void (*serve)(void *context), void *context);
/* Waits for its end. */
void raw_join(void);
_Noreturn void raw_fail(const char *what);

/* raw_tcp.c */
void raw_tcp(void);

#endif
