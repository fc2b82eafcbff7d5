/* Sends to MPI_PROC_NULL and receives from it succeed at once and touch nothing; probing it finds an empty message.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: not mpich, whose 4.0 leaves out the status of a nonblocking receive from it */
#include "check.h"

static void expect(MPI_Status *status)
{
    int count = -1;
    CHECK_EQ(status->MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(status->MPI_TAG, MPI_ANY_TAG);
    OK(MPI_Get_count(status, MPI_INT, &count));
    CHECK_EQ(count, 0);
}

int main(int argc, char **argv)
{
    int value = 17, flag = 0;
    MPI_Status status;
    MPI_Request request;
    check_begin(&argc, &argv);
    OK(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
    expect(&status);
    OK(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    expect(&status);
    OK(MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    expect(&status);
    OK(MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag);
    expect(&status);
    OK(MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    expect(&status);
    CHECK_EQ(value, 17);

    /* A buffer that is not read or written need not be one. */
    MPI_Message message;
    OK(MPI_Send(NULL, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Bsend(NULL, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Recv(NULL, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
    expect(&status);
    OK(MPI_Sendrecv(NULL, 1, MPI_INT, MPI_PROC_NULL, 0, NULL, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    expect(&status);
    OK(MPI_Sendrecv_replace(NULL, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    expect(&status);
    OK(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status));
    OK(MPI_Mrecv(NULL, 1, MPI_INT, &message, &status));
    expect(&status);

    /* A chain with open ends. */
    int left = check_rank > 0 ? check_rank - 1 : MPI_PROC_NULL;
    int right = check_rank + 1 < check_size ? check_rank + 1 : MPI_PROC_NULL;
    OK(MPI_Sendrecv(&check_rank, 1, MPI_INT, right, 1, &value, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status));
    CHECK_EQ(value, check_rank > 0 ? left : 17);
    CHECK_EQ(status.MPI_SOURCE, left);
    return check_end();
}
