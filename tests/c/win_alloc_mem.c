/* Memory from MPI_Alloc_mem, whole and in part, as window memory; address arithmetic.
 *
 * ranks: 1 2 4
 * memcheck: yes */
#include "check.h"

int main(int argc, char **argv)
{
    int *memory, *nothing, value;
    MPI_Win win;
    MPI_Aint first, fifth;
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Alloc_mem(100 * sizeof *memory, MPI_INFO_NULL, &memory));
    OK(MPI_Alloc_mem(0, MPI_INFO_NULL, &nothing));
    OK(MPI_Get_address(memory, &first));
    OK(MPI_Get_address(memory + 5, &fifth));
    CHECK_EQ(MPI_Aint_diff(fifth, first), 5 * sizeof *memory);
    CHECK_EQ(MPI_Aint_add(first, 5 * sizeof *memory), fifth);
    CHECK(first % 8 == 0);
    for (int part = 0; part < 2; part++) {
        for (int i = 0; i < 100; i++)
            memory[i] = -i;
        OK(MPI_Win_create(memory + 10 * part, 80 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        OK(MPI_Win_fence(0, win));
        value = 1000 + check_rank;
        OK(MPI_Put(&value, 1, MPI_INT, right, 7, 1, MPI_INT, win));
        OK(MPI_Accumulate(&value, 1, MPI_INT, right, 9, 1, MPI_INT, MPI_SUM, win));
        OK(MPI_Win_fence(0, win));
        OK(MPI_Win_free(&win));
        for (int i = 0; i < 100; i++)
            CHECK_AT(memory, i, i == 7 + 10 * part ? 1000 + left : i == 9 + 10 * part ? 1000 + left - i : -i);
    }
    OK(MPI_Free_mem(memory));
    OK(MPI_Free_mem(nothing));
    return check_end();
}
