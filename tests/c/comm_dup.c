/* Copies of a communicator have its order and nothing of its messages; comparison tells identity, copy, order, members.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

static int compared(MPI_Comm one, MPI_Comm other)
{
    int result = -1;
    OK(MPI_Comm_compare(one, other, &result));
    return result;
}

int main(int argc, char **argv)
{
    MPI_Comm copy, turned;
    int rank, size;
    check_begin(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Comm_rank(copy, &rank));
    OK(MPI_Comm_size(copy, &size));
    CHECK_EQ(rank, check_rank);
    CHECK_EQ(size, check_size);
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &turned));
    OK(MPI_Comm_rank(turned, &rank));
    CHECK_EQ(rank, check_size - 1 - check_rank);
    CHECK_EQ(compared(MPI_COMM_WORLD, MPI_COMM_WORLD), MPI_IDENT);
    CHECK_EQ(compared(MPI_COMM_WORLD, copy), MPI_CONGRUENT);
    CHECK_EQ(compared(copy, turned), check_size > 1 ? MPI_SIMILAR : MPI_CONGRUENT);
    CHECK_EQ(compared(MPI_COMM_WORLD, MPI_COMM_SELF), check_size > 1 ? MPI_UNEQUAL : MPI_CONGRUENT);

    /* The same source and tag on three communicators, received in another order than sent. */
    MPI_Comm comms[3] = {MPI_COMM_WORLD, copy, turned};
    int values[3] = {-1, -1, -1};
    MPI_Request requests[3];
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < 3; i++) {
        values[i] = 100 * check_rank + i;
        int to = i < 2 ? right : check_size - 1 - right;
        OK(MPI_Isend(&values[i], 1, MPI_INT, to, 5, comms[i], &requests[i]));
    }
    for (int i = 2; i >= 0; i--) {
        int got = -1, from = i < 2 ? left : check_size - 1 - left;
        OK(MPI_Recv(&got, 1, MPI_INT, from, 5, comms[i], MPI_STATUS_IGNORE));
        CHECK_EQ(got, 100 * left + i);
    }
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Comm_free(&copy));
    CHECK(copy == MPI_COMM_NULL);
    OK(MPI_Comm_free(&turned));
    return check_end();
}
