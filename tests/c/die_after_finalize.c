/* A call after MPI_Finalize ends the program, and what is printed names the call.
 *
 * ranks: 1 2
 * expect: death MPI_Comm_size */
#include "check.h"

int main(int argc, char **argv)
{
    int size;
    check_begin(&argc, &argv);
    MPI_Finalize();
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    puts("still alive");
    return 0;
}
