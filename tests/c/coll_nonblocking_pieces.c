/* The nonblocking collectives whose pieces differ, and those that give each rank its own result: several under way at once,
 * completed in another order, each with what the blocking call gives.
 *
 * ranks: 1 2 3 4 8
 * memcheck: yes */
#include "check.h"

enum { MOST = 16 };

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    int n = check_size, me = check_rank, total = 0, counts[MOST], displs[MOST], bytes[MOST];
    MPI_Datatype types[MOST];
    MPI_Request requests[9];
    CHECK(n <= MOST);
    for (int i = 0; i < n; i++) {
        counts[i] = i % 3 + 1, displs[i] = total, bytes[i] = total * (int)sizeof(int), types[i] = MPI_INT;
        total += counts[i];
    }
    /* Rank r's piece for any rank is r + 1, as often as its count says. */
    int own[3] = {me + 1, me + 1, me + 1}, all[3 * MOST], gathered[3 * MOST], everywhere[3 * MOST], back[3];
    for (int i = 0; i < total; i++)
        all[i] = gathered[i] = everywhere[i] = -1;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < counts[i]; k++)
            all[displs[i] + k] = i + 1;
    OK(MPI_Igatherv(own, counts[me], MPI_INT, gathered, counts, displs, MPI_INT, n - 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Iscatterv(all, counts, displs, MPI_INT, back, counts[me], MPI_INT, 0, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Iallgatherv(own, counts[me], MPI_INT, everywhere, counts, displs, MPI_INT, MPI_COMM_WORLD, &requests[2]));

    /* Each rank sends `me + 1` to rank r as often as r's number says, in the two forms. */
    int mine[MOST], places[MOST], byte_places[MOST], to[3 * MOST], from[2][3 * MOST];
    for (int i = 0; i < n; i++)
        mine[i] = counts[me], places[i] = i * counts[me], byte_places[i] = places[i] * (int)sizeof(int);
    for (int i = 0; i < total; i++)
        to[i] = me + 1;
    memset(from, -1, sizeof from);
    OK(MPI_Ialltoallv(to, counts, displs, MPI_INT, from[0], mine, places, MPI_INT, MPI_COMM_WORLD, &requests[3]));
    OK(MPI_Ialltoallw(to, counts, bytes, types, from[1], mine, byte_places, types, MPI_COMM_WORLD, &requests[4]));

    int ones[3 * MOST], block = -1, blocks[3] = {-1, -1, -1}, scan = -1, exscan = -1, rank = me;
    for (int i = 0; i < 3 * MOST; i++)
        ones[i] = i;
    OK(MPI_Ireduce_scatter_block(ones, &block, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[5]));
    OK(MPI_Ireduce_scatter(ones, blocks, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[6]));
    OK(MPI_Iscan(&rank, &scan, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[7]));
    OK(MPI_Iexscan(&rank, &exscan, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[8]));
    OK(MPI_Wait(&requests[8], MPI_STATUS_IGNORE));
    OK(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));

    for (int i = 0; i < total; i++) {
        CHECK_AT(gathered, i, me == n - 1 ? all[i] : -1);
        CHECK_AT(everywhere, i, all[i]);
    }
    for (int k = 0; k < counts[me]; k++) {
        CHECK_AT(back, k, me + 1);
        CHECK_AT(blocks, k, n * (displs[me] + k));
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < counts[me]; k++) {
            CHECK_AT(from[0], places[i] + k, i + 1);
            CHECK_AT(from[1], places[i] + k, i + 1);
        }
    CHECK_EQ(block, n * me);
    CHECK_EQ(scan, me * (me + 1) / 2);
    CHECK_EQ(exscan, me == 0 ? -1 : me * (me - 1) / 2);
    return check_end();
}
