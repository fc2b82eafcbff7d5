/* An error on no communicator at all goes to the handler of MPI_COMM_WORLD (MPI_COMM_SELF since MPI 4.0): fatal by default.
 *
 * ranks: 1
 * expect: death MPI_Comm_size */
#include "check.h"

int main(int argc, char **argv)
{
    int size;
    check_begin(&argc, &argv);
    MPI_Comm_size(MPI_COMM_NULL, &size);
    puts("still alive");
    MPI_Finalize();
    return 0;
}
