/* An error of window creation goes to the communicator's handler, which is fatal by default.
 *
 * ranks: 1 2
 * expect: death MPI_Win_create */
#include "check.h"

int main(int argc, char **argv)
{
    int value = 0;
    MPI_Win win;
    check_begin(&argc, &argv);
    MPI_Win_create(&value, -8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    puts("still alive");
    MPI_Finalize();
    return 0;
}
