/* Sizes, buffers, windows, and the patterns by which transfers are checked. */

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE (4 * KIB)

const size_t *transfer_sizes(void)
{
    static const size_t all[] = { 8,        64,       512,       KIB, 4 * KIB, 16 * KIB,
                                  32 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 0 };
    static const size_t few[] = { 8, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 0 };

    return settings.quick ? few : all;
}

long operations_per_flush(size_t size)
{
    size_t fitting = REGION / size;

    return fitting < 1000 ? (long)fitting : 1000;
}

void *need_memory(size_t bytes)
{
    void *memory = NULL;

    if (posix_memalign(&memory, PAGE, bytes) != 0) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(2);
    }
    return memory;
}

void free_memory(void *memory)
{
    free(memory);
}

static uint64_t pattern(size_t index)
{
    return (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

void fill_pattern(uint64_t *words, size_t bytes, uint64_t first)
{
    for (size_t i = 1; i < bytes / sizeof *words; i++)
        words[i] = pattern(i);
    words[0] = first;
}

int has_pattern(const uint64_t *words, size_t bytes, uint64_t first)
{
    for (size_t i = 1; i < bytes / sizeof *words; i++)
        if (words[i] != pattern(i))
            return 0;
    return words[0] == first;
}

void *make_window(size_t bytes, MPI_Win *window)
{
    unsigned char *memory;

    /* Whole pages, so that no two ranks' parts share a cache line. (And MPICH 4.0.2 finds the wrong rank's memory in windows
     * of 8 bytes per rank.) */
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, window);
    /* Touched, so that no page fault is measured; under a lock, since others may access the window from now on. */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, *window);
    memset(memory, 0, bytes);
    MPI_Win_unlock(my_rank, *window);
    MPI_Barrier(MPI_COMM_WORLD);
    return memory;
}

/* The checks of window memory: the rank that owns it looks, under a lock, at what rank 0 says it wrote. */
enum look { LOOK_PATTERN, LOOK_DOUBLES };

static int look(MPI_Win window, const void *base, size_t bytes, int rank, uint64_t expected, enum look kind)
{
    int is_right = 1;

    MPI_Bcast(&expected, sizeof expected, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (my_rank == rank) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, window);
        if (kind == LOOK_PATTERN)
            is_right = has_pattern(base, bytes, expected);
        else
            for (size_t i = 0; i < bytes / sizeof(double); i++)
                is_right &= ((const double *)base)[i] == (double)expected;
        MPI_Win_unlock(my_rank, window);
    }
    return is_right;
}

int window_has_pattern(MPI_Win window, const void *base, size_t bytes, int rank, uint64_t first)
{
    return look(window, base, bytes, rank, first, LOOK_PATTERN);
}

int window_has_word(MPI_Win window, const void *base, int rank, uint64_t word)
{
    return look(window, base, sizeof word, rank, word, LOOK_PATTERN);
}

int window_has_doubles(MPI_Win window, const void *base, size_t bytes, int rank, double value)
{
    return look(window, base, bytes, rank, (uint64_t)value, LOOK_DOUBLES);
}
