/* A program that asks for MPI_THREAD_SERIALIZED gets at least that.
 *
 * ranks: 2 */
#include "check.h"

int main(int argc, char **argv)
{
    int provided = -1, queried = -2;
    check_watch();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    CHECK(provided >= MPI_THREAD_SERIALIZED);
    OK(MPI_Query_thread(&queried));
    CHECK_EQ(queried, provided);
    return check_end();
}
