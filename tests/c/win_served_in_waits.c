/* While a rank waits for a message, a request or a barrier, others lock, change and read memory of its own that it has brought to a
 * window: it serves them in the call that it waits in, also without a thread for that (RMA_AGENT=0).
 *
 * ranks: 2 3 4 */
#include "check.h"

enum { WAITS = 8, CELLS = 4 };

static long memory[CELLS];

/* What rank 0 waits in for a word of rank 1. */
static void wait_by(int way)
{
    int word = -1, flag, index;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    MPI_Message message;
    if (way >= 4)
        OK(MPI_Irecv(&word, 1, MPI_INT, 1, way, MPI_COMM_WORLD, &requests[1]));
    switch (way) {
    case 0: OK(MPI_Barrier(MPI_COMM_WORLD)); return;
    case 1: OK(MPI_Recv(&word, 1, MPI_INT, 1, way, MPI_COMM_WORLD, statuses)); break;
    case 2:
        OK(MPI_Probe(1, way, MPI_COMM_WORLD, statuses));
        CHECK_EQ(statuses[0].MPI_TAG, way);
        OK(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    case 3:
        OK(MPI_Mprobe(1, way, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
        OK(MPI_Mrecv(&word, 1, MPI_INT, &message, statuses));
        break;
    case 4: OK(MPI_Wait(&requests[1], statuses)); break;
    case 5: OK(MPI_Waitall(2, requests, statuses)); break;
    case 6:
        OK(MPI_Waitany(2, requests, &index, statuses));
        CHECK_EQ(index, 1);
        break;
    default:
        OK(MPI_Waitsome(2, requests, &flag, &index, statuses));
        CHECK_EQ(flag, 1);
        CHECK_EQ(index, 1);
    }
    if (way == 1 || way == 3 || way == 4 || way == 6 || way == 7) {
        CHECK_EQ(statuses[0].MPI_SOURCE, 1);
        CHECK_EQ(statuses[0].MPI_TAG, way);
    }
    CHECK_EQ(word, 70 + way);
    CHECK(requests[1] == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    long one = 1, before, put, got = -1;
    check_begin(&argc, &argv);
    OK(MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (int way = 0; way < WAITS; way++) {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        int word = 70 + way;
        put = 10 * way + check_rank;
        if (check_rank == 0) {
            wait_by(way);
            continue;
        }
        if (check_rank == 1) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            OK(MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, win));
            OK(MPI_Put(&put, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
            OK(MPI_Win_flush(0, win));
            OK(MPI_Get(&got, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
            OK(MPI_Win_unlock(0, win));
            CHECK_EQ(before, way);
            CHECK_EQ(got, put);
            if (way != 0)
                OK(MPI_Send(&word, 1, MPI_INT, 0, way, MPI_COMM_WORLD));
        }
        if (way == 0)
            OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Win_free(&win));
    return check_end();
}
