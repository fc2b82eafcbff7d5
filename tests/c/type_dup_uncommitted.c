/* A duplicate of a datatype is committed if the original is, as predefined ones are.
 *
 * ranks: 1 2 */
#include "check.h"

int main(int argc, char **argv)
{
    long *memory;
    MPI_Win win;
    MPI_Datatype types[4];
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Type_dup(MPI_LONG, &types[0]));
    OK(MPI_Type_dup(types[0], &types[1]));
    OK(MPI_Type_contiguous(1, MPI_LONG, &types[2]));
    OK(MPI_Type_commit(&types[2]));
    OK(MPI_Type_dup(types[2], &types[3]));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 4; i++) {
        long value = 10 * check_rank + i;
        int next = (check_rank + 1) % check_size, last = (check_rank + check_size - 1) % check_size;
        OK(MPI_Put(&value, 1, types[i], next, 0, 1, types[i], win));
        OK(MPI_Win_fence(0, win));
        CHECK_EQ(memory[0], 10L * last + i);
        OK(MPI_Win_fence(0, win));
    }
    for (int i = 0; i < 4; i++)
        OK(MPI_Type_free(&types[i]));
    OK(MPI_Win_free(&win));
    return check_end();
}
