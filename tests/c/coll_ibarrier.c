/* A nonblocking barrier: not over before all have come, over without any call of those that came first, several at once,
 * and messages pass meanwhile.
 *
 * ranks: 1 2 3 4 8
 * memcheck: yes */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Request request, requests[3];
    int flag = 0, value = -1;
    check_begin(&argc, &argv);

    /* The last one waits for a word from each of the others that its test said no; then it comes. */
    if (check_rank == check_size - 1) {
        for (int i = 0; i < check_size - 1; i++)
            OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        for (int i = 0; i < 20; i++) {
            OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
        }
        OK(MPI_Send(&check_rank, 1, MPI_INT, check_size - 1, 0, MPI_COMM_WORLD));
        DOING("MPI_Test until the barrier is over");
        while (!flag)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    CHECK(request == MPI_REQUEST_NULL);

    /* A rank that has come and waits for a message carries the others' barrier on. */
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    if (check_size > 1 && check_rank == 0) {
        OK(MPI_Recv(&value, 1, MPI_INT, check_size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(value, 12);
    } else if (check_rank == check_size - 1 && check_size > 1) {
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        value = 12;
        OK(MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

    /* Several at once, waited for in another order, with another collective between. */
    for (int i = 0; i < 3; i++)
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Allreduce(&check_rank, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK_EQ(value, check_size - 1);
    OK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    return check_end();
}
