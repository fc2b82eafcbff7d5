/* Send and receive in one call, around a ring, with sizes that no buffer takes on the way; all ranks at once.
 *
 * ranks: 1 2 3 8 */
#include "check.h"

enum { LARGE = 150000 };

int main(int argc, char **argv)
{
    static double out[LARGE], in[LARGE];
    MPI_Status status;
    check_begin(&argc, &argv);
    const int sizes[] = {1, 100, LARGE};
    for (int step = 0; step < check_size; step++) {
        int to = (check_rank + step) % check_size, from = (check_rank + check_size - step) % check_size;
        for (int s = 0; s < 3; s++) {
            int count = -1;
            for (int i = 0; i < sizes[s]; i++)
                out[i] = check_rank + i * 0.5, in[i] = -1;
            OK(MPI_Sendrecv(out, sizes[s], MPI_DOUBLE, to, s, in, LARGE, MPI_DOUBLE, from, s, MPI_COMM_WORLD, &status));
            OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
            CHECK_EQ(count, sizes[s]);
            for (int i = 0; i < count; i++)
                CHECK_AT(in, i, (long long)(from + i * 0.5));
        }
    }
    return check_end();
}
