/* Running sums over the ranks, in place and not.
 *
 * ranks: 1 2 3 4 7 8
 * memcheck: yes */
#include "check.h"

enum { MOST = 30000 };

int main(int argc, char **argv)
{
    const int sizes[] = {0, 1, 100, MOST};
    static long in[MOST], out[MOST];
    check_begin(&argc, &argv);
    long ranks = (long)(check_rank + 1) * (check_rank + 2) / 2;
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < sizes[s]; i++)
            in[i] = (long)(check_rank + 1) * (i + 1), out[i] = -1;
        OK(MPI_Scan(in, out, sizes[s], MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; i < sizes[s]; i++)
            CHECK_AT(out, i, ranks * (i + 1));
        OK(MPI_Scan(MPI_IN_PLACE, in, sizes[s], MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; i < sizes[s]; i++)
            CHECK_AT(in, i, ranks * (i + 1));
    }
    int value = check_rank % 3, most = -1, expected = 0;
    OK(MPI_Scan(&value, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    for (int i = 0; i <= check_rank; i++)
        expected = i % 3 > expected ? i % 3 : expected;
    CHECK_EQ(most, expected);
    return check_end();
}
