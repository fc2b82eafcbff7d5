/* What is not an error code is refused by the calls about codes.
 *
 * ranks: 1
 * peers: none, they take any number for a code */
#include "check.h"

int main(int argc, char **argv)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, length;
    check_begin(&argc, &argv);
    check_errors_return();
    FAILS(MPI_Error_class(-5, &class), MPI_ERR_ARG);
    FAILS(MPI_Error_class(MPI_ERR_LASTCODE, &class), MPI_ERR_ARG);
    FAILS(MPI_Error_string(-5, text, &length), MPI_ERR_ARG);
    FAILS(MPI_Error_string(1 << 30, text, &length), MPI_ERR_ARG);
    return check_end();
}
