/* No rank leaves a barrier before the last has come, on the world and on parts of it.
 *
 * ranks: 1 2 3 4 8
 * memcheck: yes */
#include "check.h"

#include <time.h>

/* The clock of the machine: MPI_Wtime may have another origin in every process. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    MPI_Comm parts[2];
    check_begin(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &parts[0]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &parts[1]));
    for (int p = 0; p < 2; p++) {
        int rank, size;
        OK(MPI_Comm_rank(parts[p], &rank));
        OK(MPI_Comm_size(parts[p], &size));
        for (int late = 0; late < size; late++) {
            /* The late one notes when it came, the others when they left. */
            double came = 0, left;
            if (rank == late) {
                usleep(20000);
                came = now();
            }
            OK(MPI_Barrier(parts[p]));
            left = now();
            OK(MPI_Bcast(&came, 1, MPI_DOUBLE, late, parts[p]));
            if (left < came)
                CHECK_SAY("left %.6f s before rank %d of the part had come", came - left, late);
        }
        for (int i = 0; i < 100; i++)
            OK(MPI_Barrier(parts[p]));
        OK(MPI_Comm_free(&parts[p]));
    }
    OK(MPI_Barrier(MPI_COMM_SELF));
    return check_end();
}
