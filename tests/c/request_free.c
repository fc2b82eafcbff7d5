/* A request that is freed before its end: the message arrives all the same. Get_status looks without ending anything.
 *
 * ranks: 2 4 */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Request request;
    MPI_Status status;
    int out = 41, in = 0, flag = 0;
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Isend(&out, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Irecv(&in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &request));
    DOING("MPI_Request_get_status until it says yes");
    while (!flag)
        MPI_Request_get_status(request, &flag, &status);
    CHECK(request != MPI_REQUEST_NULL);
    CHECK_EQ(status.MPI_SOURCE, left);
    OK(MPI_Wait(&request, &status));
    CHECK_EQ(in, 41);
    CHECK_EQ(status.MPI_SOURCE, left);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return check_end();
}
