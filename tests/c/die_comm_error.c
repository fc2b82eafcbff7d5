/* By default an error on a communicator is fatal for the job; what is printed names the call and the class.
 *
 * ranks: 1 2
 * expect: death MPI_Send */
#include "check.h"

int main(int argc, char **argv)
{
    int value = 1;
    check_begin(&argc, &argv);
    MPI_Send(&value, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD);
    puts("still alive");
    MPI_Finalize();
    return 0;
}
