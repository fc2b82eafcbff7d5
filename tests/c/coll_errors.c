/* What is refused about collectives, by every rank alike.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: not mpich, whose 4.0 takes a negative count */
#include "check.h"

int main(int argc, char **argv)
{
    int in = 1, out[8];
    double number = 0, result;
    check_begin(&argc, &argv);
    check_errors_return();
    FAILS(MPI_Bcast(&in, 1, MPI_INT, check_size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(&in, 1, MPI_INT, -2, MPI_COMM_WORLD), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(&in, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Reduce(&in, out, 1, MPI_INT, MPI_SUM, check_size + 4, MPI_COMM_WORLD), MPI_ERR_ROOT);
    FAILS(MPI_Allreduce(&in, out, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Allreduce(&number, &result, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
    FAILS(MPI_Gather(&in, 1, MPI_INT, out, 1, MPI_INT, check_size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    FAILS(MPI_Allgather(&in, 1, MPI_DATATYPE_NULL, out, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TYPE);
    /* And the communicator still works. */
    OK(MPI_Allreduce(&in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(out[0], check_size);
    return check_end();
}
