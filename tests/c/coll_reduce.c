/* Reduce and allreduce: every root, in place, sizes from nothing to large, sums that cannot round.
 *
 * ranks: 1 2 3 4 7 8
 * memcheck: yes
 * peers: not mpich, whose 4.0 crashes on a large reduction in place */
#include "check.h"

enum { MOST = 50000 };

static long in[MOST], out[MOST];

static void fill(int count)
{
    for (int i = 0; i < count; i++)
        in[i] = (long)(check_rank + 1) * (i % 1000 + 1), out[i] = -1;
}

static void summed(const long *result, int count)
{
    long ranks = (long)check_size * (check_size + 1) / 2;
    for (int i = 0; i < count; i++)
        CHECK_AT(result, i, ranks * (i % 1000 + 1));
}

int main(int argc, char **argv)
{
    const int sizes[] = {0, 1, 13, 2000, MOST};
    check_begin(&argc, &argv);
    for (int s = 0; s < 5; s++) {
        for (int root = 0; root < check_size; root++) {
            fill(sizes[s]);
            OK(MPI_Reduce(in, check_rank == root ? out : NULL, sizes[s], MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD));
            if (check_rank == root)
                summed(out, sizes[s]);
            fill(sizes[s]);
            if (check_rank == root)
                OK(MPI_Reduce(MPI_IN_PLACE, in, sizes[s], MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD));
            else
                OK(MPI_Reduce(in, NULL, sizes[s], MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD));
            if (check_rank == root)
                summed(in, sizes[s]);
        }
        fill(sizes[s]);
        OK(MPI_Allreduce(in, out, sizes[s], MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        summed(out, sizes[s]);
        OK(MPI_Allreduce(MPI_IN_PLACE, in, sizes[s], MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        summed(in, sizes[s]);
    }
    return check_end();
}
