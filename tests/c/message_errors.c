/* What is refused about messages, each with its class, without a message being sent.
 *
 * ranks: 1 2
 * memcheck: yes */
#include "check.h"

int main(int argc, char **argv)
{
    int value = 0, flag;
    MPI_Request request;
    MPI_Status status;
    check_begin(&argc, &argv);
    check_errors_return();
    FAILS(MPI_Send(&value, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Send(&value, 1, MPI_INT, -77, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Send(&value, 1, MPI_INT, 0, -1000, MPI_COMM_WORLD), MPI_ERR_TAG);
    FAILS(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
    FAILS(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Isend(&value, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
    FAILS(MPI_Recv(&value, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
    FAILS(MPI_Recv(&value, 1, MPI_INT, 0, -1000, MPI_COMM_WORLD, &status), MPI_ERR_TAG);
    FAILS(MPI_Recv(&value, -3, MPI_INT, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_COUNT);
    FAILS(MPI_Irecv(&value, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
    FAILS(MPI_Iprobe(check_size, 0, MPI_COMM_WORLD, &flag, &status), MPI_ERR_RANK);
    FAILS(MPI_Sendrecv(&value, 1, MPI_INT, 0, -1000, &value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_TAG);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK(!flag);
    return check_end();
}
