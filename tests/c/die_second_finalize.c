/* MPI_Finalize may be called once.
 *
 * ranks: 1
 * expect: death MPI_Finalize */
#include "check.h"

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Finalize();
    MPI_Finalize();
    puts("still alive");
    return 0;
}
