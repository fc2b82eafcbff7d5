/* A call before MPI_Init ends the program, and what is printed names the call.
 *
 * ranks: 1 2
 * expect: death MPI_Comm_rank */
#include "check.h"

int main(void)
{
    int rank;
    check_watch();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    puts("still alive");
    return 0;
}
