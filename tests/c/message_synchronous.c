/* A synchronous send is not over before its receive has begun, however small it is.
 *
 * ranks: 2 4 */
#include "check.h"

#include <time.h>

/* The clock of the machine, which all ranks share. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int words = 0; words < 2; words++) {
        if (check_rank % 2 == 0 && check_rank + 1 < check_size) {
            int value = 5;
            OK(MPI_Ssend(&value, words, MPI_INT, check_rank + 1, 0, MPI_COMM_WORLD));
            double end = now();
            OK(MPI_Send(&end, 1, MPI_DOUBLE, check_rank + 1, 1, MPI_COMM_WORLD));
        } else if (check_rank % 2 == 1) {
            int value = 0;
            usleep(100000);
            double begin = now(), end = 0;
            OK(MPI_Recv(&value, words, MPI_INT, check_rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_EQ(value, words == 0 ? 0 : 5);
            OK(MPI_Recv(&end, 1, MPI_DOUBLE, check_rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            if (end < begin)
                CHECK_SAY("the send of %d words was over %.6f s before the receive began", words, begin - end);
        }
    }
    return check_end();
}
