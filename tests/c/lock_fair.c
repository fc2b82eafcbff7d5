/* All ranks fight for one lock for half a second, its owner among them: none starves.
 *
 * ranks: 2 8
 * peers: none, fairness is not the standard's */
#include "check.h"

int main(int argc, char **argv)
{
    long *memory, one = 1, mine = 0, least = 0, most = 0, sum = 0;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    *memory = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    double end = MPI_Wtime() + 0.5;
    while (MPI_Wtime() < end) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_unlock(0, win));
        mine++;
    }
    OK(MPI_Allreduce(&mine, &least, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD));
    OK(MPI_Allreduce(&mine, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    CHECK_EQ(*memory, check_rank == 0 ? sum : 0);
    OK(MPI_Win_unlock(check_rank, win));
    if (least < 20)
        CHECK_SAY("between %ld and %ld locks per rank", least, most);
    OK(MPI_Win_free(&win));
    return check_end();
}
