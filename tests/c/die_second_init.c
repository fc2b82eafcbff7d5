/* MPI_Init may be called once.
 *
 * ranks: 1
 * expect: death MPI_Init */
#include "check.h"

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Init(&argc, &argv);
    puts("still alive");
    return 0;
}
