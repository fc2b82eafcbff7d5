/* Many communicators one after another and at once: their numbers come back, and none gets the messages of another.
 *
 * ranks: 1 2 4 */
#include "check.h"

enum { ROUNDS = 300, AT_ONCE = 60 };

int main(int argc, char **argv)
{
    MPI_Comm comms[AT_ONCE];
    check_begin(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
        OK(MPI_Comm_free(&comms[0]));
    }
    for (int i = 0; i < AT_ONCE; i++)
        OK(MPI_Comm_split(MPI_COMM_WORLD, i % 3 == 0 ? check_rank % 2 : 0, check_rank, &comms[i]));
    for (int i = AT_ONCE - 1; i >= 0; i--) {
        int size, rank, in = -1;
        OK(MPI_Comm_size(comms[i], &size));
        OK(MPI_Comm_rank(comms[i], &rank));
        int out = 1000 * i + rank;
        OK(MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0, comms[i],
                        MPI_STATUS_IGNORE));
        CHECK_EQ(in, 1000 * i + (rank + size - 1) % size);
    }
    for (int i = 0; i < AT_ONCE; i++)
        OK(MPI_Comm_free(&comms[(i * 7) % AT_ONCE]));
    return check_end();
}
