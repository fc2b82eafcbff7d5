/* A profiler as an object of its own: counts calls by their MPI_ names, and makes them by their PMPI_ names. */
#include <mpi.h>
#include <stdio.h>

static int windows, fences, puts_seen;

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    windows++;
    return PMPI_Win_create(base, size, unit, info, comm, win);
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
{
    windows++;
    return PMPI_Win_allocate(size, unit, info, comm, base, win);
}

int MPI_Win_fence(int assert, MPI_Win win)
{
    fences++;
    return PMPI_Win_fence(assert, win);
}

int MPI_Put(const void *origin, int count, MPI_Datatype type, int rank, MPI_Aint disp, int target_count, MPI_Datatype target_type,
            MPI_Win win)
{
    puts_seen++;
    return PMPI_Put(origin, count, type, rank, disp, target_count, target_type, win);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* The colon belongs to the word before it: the numbers are words. */
    printf("profiler of rank %d: %d windows, %d fences, %d puts\n", rank, windows, fences, puts_seen);
    fflush(stdout);
    return PMPI_Finalize();
}
