/* The error field of a status is written only where a call answers MPI_ERR_IN_STATUS; every other call leaves it as it was,
 * except that the empty status of a null request alone says that there is no error.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: none, they write it on success as well */
#include "check.h"

enum { COUNT = 3, MARK = 4711 };

static MPI_Request requests[COUNT];
static MPI_Status statuses[COUNT], status;
static int in[COUNT];

/* Messages to itself that have all come in, in a list with a null request. */
static void post(void)
{
    for (int i = 0; i < COUNT; i++) {
        statuses[i].MPI_ERROR = MARK;
        requests[i] = MPI_REQUEST_NULL;
        if (i != 1) {
            OK(MPI_Irecv(&in[i], 1, MPI_INT, check_rank, i, MPI_COMM_WORLD, &requests[i]));
            OK(MPI_Send(&i, 1, MPI_INT, check_rank, i, MPI_COMM_WORLD));
        }
    }
    status.MPI_ERROR = MARK;
}

static void unwritten(void)
{
    for (int i = 0; i < COUNT; i++)
        CHECK_EQ(statuses[i].MPI_ERROR, MARK);
    CHECK_EQ(status.MPI_ERROR, MARK);
}

int main(int argc, char **argv)
{
    int flag = 0, index, indices[COUNT], count;
    check_begin(&argc, &argv);
    post();
    OK(MPI_Waitall(COUNT, requests, statuses));
    unwritten();
    post();
    for (flag = 0; !flag;)
        OK(MPI_Testall(COUNT, requests, &flag, statuses));
    unwritten();
    post();
    for (int left = COUNT - 1; left > 0; left -= count)
        OK(MPI_Waitsome(COUNT, requests, &count, indices, statuses));
    unwritten();
    post();
    for (int left = COUNT - 1; left > 0; left -= count)
        OK(MPI_Testsome(COUNT, requests, &count, indices, statuses));
    unwritten();
    post();
    OK(MPI_Waitany(COUNT, requests, &index, &status));
    for (flag = 0; !flag;)
        OK(MPI_Testany(COUNT, requests, &index, &flag, &status));
    unwritten();
    post();
    OK(MPI_Wait(&requests[0], &status));
    CHECK_EQ(status.MPI_ERROR, MARK);
    /* A null request's status is the empty one, of which "no error" is a part (3.7.3). */
    OK(MPI_Wait(&requests[1], &status));
    CHECK_EQ(status.MPI_ERROR, MPI_SUCCESS);
    status.MPI_ERROR = MARK;
    for (flag = 0; !flag;)
        OK(MPI_Test(&requests[2], &flag, &status));
    unwritten();

    /* And with an error: every status tells. */
    check_errors_return();
    int large[2] = {1, 2}, class = -1;
    post();
    OK(MPI_Waitall(COUNT, requests, statuses));
    OK(MPI_Irecv(&in[0], 1, MPI_INT, check_rank, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Irecv(&in[2], 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Send(large, 1, MPI_INT, check_rank, 0, MPI_COMM_WORLD));
    MPI_Send(large, 2, MPI_INT, check_rank, 2, MPI_COMM_WORLD);
    FAILS(MPI_Waitall(COUNT, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS || statuses[0].MPI_ERROR == MPI_ERR_PENDING);
    CHECK_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
    OK(MPI_Error_class(statuses[2].MPI_ERROR, &class));
    CHECK_EQ(class, MPI_ERR_TRUNCATE);
    OK(MPI_Waitall(COUNT, requests, statuses));
    return check_end();
}
