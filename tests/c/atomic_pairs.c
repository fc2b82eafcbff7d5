/* Values with an index: maxloc and minloc as accumulates, also of many pairs at once, with holes in their structure.
 *
 * ranks: 1 2 4 */
#include "check.h"

enum { COUNT = 300 };

typedef struct {
    double value;
    int index;
} pair;

int main(int argc, char **argv)
{
    pair *memory, mine[COUNT], got[COUNT];
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(2 * COUNT * sizeof(pair), sizeof(pair), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_fence(0, win));
    memset(mine, 0, sizeof mine);
    for (int i = 0; i < 2 * COUNT; i++) {
        memory[i].value = i < COUNT ? -1 : 1000;
        memory[i].index = 999;
    }
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < COUNT; i++) {
        mine[i].value = (check_rank + i) % check_size;
        mine[i].index = check_rank;
    }
    OK(MPI_Accumulate(mine, COUNT, MPI_DOUBLE_INT, 0, 0, COUNT, MPI_DOUBLE_INT, MPI_MAXLOC, win));
    OK(MPI_Accumulate(mine, COUNT, MPI_DOUBLE_INT, 0, COUNT, COUNT, MPI_DOUBLE_INT, MPI_MINLOC, win));
    OK(MPI_Win_fence(0, win));
    memset(got, 0, sizeof got);
    OK(MPI_Get_accumulate(NULL, 0, MPI_DOUBLE_INT, got, COUNT, MPI_DOUBLE_INT, 0, 0, COUNT, MPI_DOUBLE_INT, MPI_NO_OP, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ(got[i].value, check_size - 1);
        CHECK_EQ(got[i].index, ((check_size - 1 - i) % check_size + check_size) % check_size);
        if (check_rank == 0) {
            CHECK_EQ(memory[COUNT + i].value, 0);
            CHECK_EQ(memory[COUNT + i].index, ((-i) % check_size + check_size) % check_size);
        }
    }
    OK(MPI_Win_free(&win));
    return check_end();
}
