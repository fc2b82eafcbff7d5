/* While the holder of a lock sleeps for a second, those that wait for it sleep too; afterwards each gets its turn.
 *
 * ranks: 2 8
 * peers: none, they may spin while they wait */
#include "check.h"

#include <sys/resource.h>

static double cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    int *memory, value = 0;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    *memory = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == check_size - 1)
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    if (check_rank == check_size - 1) {
        OK(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    double cpu = cpu_s(), begin = MPI_Wtime();
    if (check_rank == check_size - 1) {
        usleep(1000000);
        OK(MPI_Win_unlock(0, win));
    } else {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        double waited = MPI_Wtime() - begin, used = cpu_s() - cpu;
        CHECK(waited > 0.9);
        if (used > 0.1)
            CHECK_SAY("waiting for %.2f s took %.3f s of the processor", waited, used);
        value++;
        OK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        OK(MPI_Win_unlock(0, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    OK(MPI_Win_unlock(0, win));
    CHECK_EQ(value, check_size - 1);
    OK(MPI_Win_free(&win));
    return check_end();
}
