/* What the programs of this folder share: survivors check, and say at the end that they have gone on. Each runs as
 * `PROGRAM CASE SEED`; the rank that dies, and when, follows from both. */
#ifndef FAULTS_H
#define FAULTS_H

#include <mpi-ext.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, failures;

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            failures++;                                                                        \
            fprintf(stderr, "rank %d: line %d: not so: %s\n", rank, __LINE__, #condition);     \
        }                                                                                      \
    } while (0)

/* A call answers this class. */
#define CLASS(call, expected)                                                                  \
    do {                                                                                       \
        int class_of_it, code_of_it = (call);                                                  \
        MPI_Error_class(code_of_it, &class_of_it);                                             \
        if (class_of_it != (expected)) {                                                       \
            failures++;                                                                        \
            fprintf(stderr, "rank %d: line %d: %s answers %d, not %d\n", rank, __LINE__, #call, \
                    class_of_it, (expected));                                                  \
        }                                                                                      \
    } while (0)

#define OK(call) CLASS(call, MPI_SUCCESS)

/* A number below `limit`, the same on every rank that draws as often. */
static uint64_t dice;
static inline unsigned drawn(unsigned limit)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % limit;
}

static inline void die(void)
{
    raise(SIGKILL);
    for (;;)
        pause();
}

/* Returns when this rank has heard of a death. */
static inline void await_a_death(void)
{
    int failed = 0;
    while (!failed) {
        MPI_Group group;
        OK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &group));
        MPI_Group_size(group, &failed);
        MPI_Group_free(&group);
    }
}

static inline void begin(int *argc, char ***argv)
{
    setenv("RMA_ON_FAILURE", "continue", 1);
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    dice = (uint64_t)atoi((*argv)[2]) * 2654435761u + 99;
    drawn(2);
}

static inline int end(void)
{
    OK(MPI_Finalize());
    if (failures == 0)
        printf("rank %d went on\n", rank);
    return failures != 0;
}

#endif
