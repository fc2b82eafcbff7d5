/* Many requests at once, posted and waited for in orders of their own, between all pairs of ranks.
 *
 * ranks: 1 2 4 8 */
#include "check.h"

enum { EACH = 200, MOST = 8 * EACH };

static int in[MOST][4], out[MOST][4];
static MPI_Request receives[MOST], sends[MOST];

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    int count = check_size * EACH;
    /* Receives for half of the messages are there before, for the others not. */
    for (int half = 0; half < 2; half++) {
        for (int i = half; i < EACH; i += 2)
            for (int from = 0; from < check_size; from++)
                OK(MPI_Irecv(in[from * EACH + i], 4, MPI_INT, from, i, MPI_COMM_WORLD, &receives[from * EACH + i]));
        if (half == 1)
            break;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = EACH - 1; i >= 0; i--)
            for (int to = 0; to < check_size; to++) {
                int at = to * EACH + i;
                for (int k = 0; k < 4; k++)
                    out[at][k] = check_rank * 1000000 + to * 10000 + i * 4 + k;
                OK(MPI_Isend(out[at], 4, MPI_INT, to, i, MPI_COMM_WORLD, &sends[at]));
            }
    }
    OK(MPI_Waitall(count, sends, MPI_STATUSES_IGNORE));
    OK(MPI_Waitall(count, receives, MPI_STATUSES_IGNORE));
    for (int from = 0; from < check_size; from++)
        for (int i = 0; i < EACH; i++)
            for (int k = 0; k < 4; k++)
                CHECK_AT(in[from * EACH + i], k, from * 1000000 + check_rank * 10000 + i * 4 + k);
    for (int i = 0; i < count; i++)
        CHECK(sends[i] == MPI_REQUEST_NULL && receives[i] == MPI_REQUEST_NULL);
    return check_end();
}
