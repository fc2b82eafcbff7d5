/* The attributes that MPI_COMM_WORLD is born with.
 *
 * ranks: 1 2 */
#include "check.h"

int main(int argc, char **argv)
{
    int *value = NULL, flag = 0, out = 6, in = 0;
    check_begin(&argc, &argv);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767);
    if (flag)
        OK(MPI_Sendrecv(&out, 1, MPI_INT, check_rank, *value, &in, 1, MPI_INT, check_rank, *value, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
    CHECK_EQ(in, 6);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
    CHECK(!flag || *value == 0 || *value == 1);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(!flag || *value >= check_size);
    return check_end();
}
