/* Each rank has something else for each rank.
 *
 * ranks: 1 2 3 4 7 8
 * memcheck: yes */
#include "check.h"

enum { MOST = 5000 };

int main(int argc, char **argv)
{
    const int sizes[] = {0, 1, 40, MOST};
    static int out[8 * MOST], in[8 * MOST];
    check_begin(&argc, &argv);
    for (int s = 0; s < 4; s++) {
        int count = sizes[s];
        for (int to = 0; to < check_size; to++)
            for (int i = 0; i < count; i++)
                out[to * count + i] = check_rank * 1000000 + to * 100000 + i;
        memset(in, -1, sizeof in);
        OK(MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD));
        for (int from = 0; from < check_size; from++)
            for (int i = 0; i < count; i++)
                CHECK_AT(in, from * count + i, from * 1000000 + check_rank * 100000 + i);
        /* In place. */
        OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INT, MPI_COMM_WORLD));
        for (int from = 0; from < check_size; from++)
            for (int i = 0; i < count; i++)
                CHECK_AT(out, from * count + i, from * 1000000 + check_rank * 100000 + i);
    }
    return check_end();
}
