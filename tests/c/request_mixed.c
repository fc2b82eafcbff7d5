/* Requests of every kind in the same calls: sends, receives, collectives, cancelled receives; statuses of those that fail.
 *
 * ranks: 1 2 4
 * peers: not openmpi-guest, its MPI_Wait follows a null pointer
 * peers: not newest-openmpi-guest, the same
 * peers: not mpich-abi, whose 5.0 stores codes for classes, and follows a null pointer
 * peers: not newest-mpich-guest, whose 5.0 stores codes for classes, and follows a null pointer
 * peers: not mpich-abi-guest, the same */
#include "check.h"

int main(int argc, char **argv)
{
    enum { KINDS = 6 };
    int in = -1, word = 0, sum = 0, flag = 0, count = 0, out = 0, never = 0;
    int to, from, indices[KINDS];
    long long small[1], large[4] = {1, 2, 3, 4};
    MPI_Request requests[KINDS], late;
    MPI_Status statuses[KINDS], status;
    check_begin(&argc, &argv);
    to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    out = 10 + check_rank, word = check_rank == 0 ? 5 : 0;

    OK(MPI_Irecv(&never, 1, MPI_INT, from, 99, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Iallreduce(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[3]));
    OK(MPI_Isend(&out, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &requests[4]));
    OK(MPI_Ibcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[5]));
    OK(MPI_Request_get_status(requests[0], &flag, &status));
    CHECK(!flag);
    OK(MPI_Cancel(&requests[0]));
    OK(MPI_Waitall(KINDS, requests, statuses));
    for (int i = 0; i < KINDS; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
    OK(MPI_Test_cancelled(&statuses[0], &flag));
    CHECK(flag);
    OK(MPI_Test_cancelled(&statuses[2], &flag));
    CHECK(!flag);
    CHECK_EQ(statuses[2].MPI_SOURCE, from);
    CHECK_EQ(in, 10 + from);
    CHECK_EQ(sum, 10 * check_size + check_size * (check_size - 1) / 2);
    CHECK_EQ(word, 5);

    /* One that fails: the call says where to look, and the others are complete. */
    check_errors_return();
    for (int i = 0; i < KINDS; i++)
        requests[i] = MPI_REQUEST_NULL;
    OK(MPI_Irecv(small, 1, MPI_LONG_LONG, from, 4, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Irecv(large, 4, MPI_LONG_LONG, from, 5, MPI_COMM_WORLD, &requests[3]));
    OK(MPI_Send(large, 4, MPI_LONG_LONG, to, 5, MPI_COMM_WORLD));
    OK(MPI_Wait(&requests[3], &status));
    OK(MPI_Isend(large, 2, MPI_LONG_LONG, to, 4, MPI_COMM_WORLD, &late));
    FAILS(MPI_Waitall(4, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK_EQ(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    CHECK_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_EQ(statuses[1].MPI_SOURCE, from);
    CHECK(requests[1] == MPI_REQUEST_NULL);
    OK(MPI_Wait(&late, &status));

    /* Nothing to wait for. */
    OK(MPI_Waitany(4, requests, &count, &status));
    CHECK_EQ(count, MPI_UNDEFINED);
    OK(MPI_Waitsome(4, requests, &count, indices, statuses));
    CHECK_EQ(count, MPI_UNDEFINED);
    flag = 0;
    OK(MPI_Testall(4, requests, &flag, statuses));
    CHECK(flag);
    OK(MPI_Get_count(&statuses[3], MPI_INT, &count));
    CHECK_EQ(count, 0);
    FAILS(MPI_Wait((MPI_Request *)NULL, &status), MPI_ERR_ARG);
    requests[0] = (MPI_Request)(intptr_t)-8;
    FAILS(MPI_Wait(&requests[0], &status), MPI_ERR_REQUEST);
    return check_end();
}
