/* Limits of memory: copies, atomic operations alone and in company, and a flag that goes to and fro. */

#define _GNU_SOURCE
#include "raw.h"

#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

_Noreturn void raw_fail(const char *what)
{
    perror(what);
    exit(2);
}

void *raw_shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        raw_fail("mmap");
    memset(memory, 0, bytes);
    return memory;
}

void raw_fork(void (*serve)(void *context), void *context)
{
    pid_t parent = getpid();

    fflush(stdout);
    child = fork();
    if (child < 0)
        raw_fail("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* The parent may have died before that call. */
        if (getppid() != parent)
            _exit(1);
        serve(context);
        _exit(0);
    }
}

void raw_join(void)
{
    int status;

    if (waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "the second process failed\n");
        exit(2);
    }
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

struct copy {
    void *to;
    const void *from;
    size_t bytes;
};

static void copy(void *context, long count)
{
    struct copy *c = context;

    for (long i = 0; i < count; i++) {
        memcpy(c->to, c->from, c->bytes);
        /* The compiler may not leave out a copy that the next one overwrites. */
        __asm__ volatile("" : : "r"(c->to) : "memory");
    }
}

static void add(void *context, long count)
{
    struct raw_words *words = context;

    for (long i = 0; i < count; i++)
        __atomic_fetch_add(&words->counter, 1, __ATOMIC_SEQ_CST);
}

static void add_until_stopped(void *context)
{
    struct raw_words *words = context;

    while (!__atomic_load_n(&words->stop, __ATOMIC_RELAXED))
        add(words, 64);
}

static void ping(void *context, long count)
{
    struct raw_words *words = context;

    for (long i = 0; i < count; i++) {
        uint64_t turn = words->ping + 1;

        __atomic_store_n(&words->ping, turn, __ATOMIC_RELEASE);
        while (__atomic_load_n(&words->pong, __ATOMIC_ACQUIRE) != turn)
            relax();
    }
}

static void pong(void *context)
{
    struct raw_words *words = context;
    uint64_t turn = 0;

    while (!__atomic_load_n(&words->stop, __ATOMIC_RELAXED)) {
        if (__atomic_load_n(&words->ping, __ATOMIC_ACQUIRE) != turn)
            __atomic_store_n(&words->pong, ++turn, __ATOMIC_RELEASE);
        else
            relax();
    }
}

/* Measures while the other process serves. */
static struct result in_company(const char *name, void (*serve)(void *), body_fn body)
{
    struct raw_words *words = raw_shared(sizeof *words);
    struct result result;

    raw_fork(serve, words);
    result = measure_here(name, sizeof words->counter, body, words);
    __atomic_store_n(&words->stop, 1, __ATOMIC_RELEASE);
    raw_join();
    munmap(words, sizeof *words);
    return result;
}

/* Two processes add to one word: the time is per addition of both together. */
static struct result contended_atomic(void)
{
    struct raw_words *words = raw_shared(sizeof *words);
    struct result result = { .name = "raw-atomic-contended", .size = sizeof words->counter };

    raw_fork(add_until_stopped, words);
    while (__atomic_load_n(&words->counter, __ATOMIC_RELAXED) == 0)
        relax();
    while (result.count < settings.samples) {
        uint64_t before = __atomic_load_n(&words->counter, __ATOMIC_RELAXED);
        double start_ns = now_ns(), taken_ns;

        do {
            add(words, 64);
            taken_ns = now_ns() - start_ns;
        } while (taken_ns < settings.sample_ns);
        result.iterations = (long)(__atomic_load_n(&words->counter, __ATOMIC_RELAXED) - before);
        result.samples[result.count++] = taken_ns / (double)result.iterations;
    }
    __atomic_store_n(&words->stop, 1, __ATOMIC_RELEASE);
    raw_join();
    munmap(words, sizeof *words);
    return result;
}

static void print_raw(struct result result)
{
    result.ranks = 2;
    result.operations = 1;
    print_result(&result);
}

void raw_memory(void)
{
    struct raw_words *words = raw_shared(sizeof *words);

    for (const size_t *size = transfer_sizes(); *size; size++) {
        struct copy c = { .to = raw_shared(*size), .from = need_memory(*size), .bytes = *size };

        memset((void *)c.from, 1, *size);
        print_raw(measure_here("raw-memcpy", *size, copy, &c));
        munmap(c.to, *size);
        free((void *)c.from);
    }
    print_raw(measure_here("raw-atomic", sizeof words->counter, add, words));
    munmap(words, sizeof *words);
    print_raw(contended_atomic());
    print_raw(in_company("raw-flag", pong, ping));
}
