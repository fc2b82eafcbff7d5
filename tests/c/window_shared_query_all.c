/* MPI_Win_shared_query on allocated and created windows (MPI 4.1): memory that can be reached by loads and stores is
 * named, and other memory has size 0.
 *
 * ranks: 1 2 4
 * memcheck: yes */
#include "check.h"

static void look(MPI_Win win, MPI_Aint own_size, void *own_base)
{
    MPI_Aint size, lowest = -1;
    int unit, *base, *null_base;
    for (int rank = 0; rank < check_size; rank++) {
        size = -1;
        OK(MPI_Win_shared_query(win, rank, &size, &unit, &base));
        if (rank == check_rank) {
            CHECK_EQ(size, own_size);
            CHECK(own_size == 0 || base == own_base);
        }
        CHECK(size == 0 || size == 4 * (rank + 1));
        if (size > 0) {
            CHECK_EQ(unit, 4);
            for (int i = 0; i <= rank; i++)
                CHECK_AT(base, i, 100 * rank + i);
            if (lowest < 0)
                lowest = size;
        }
    }
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &null_base));
    CHECK_EQ(size, lowest);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    int *base, memory[64];
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(4 * (check_rank + 1), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    for (int i = 0; i <= check_rank; i++)
        base[i] = 100 * check_rank + i;
    OK(MPI_Win_fence(0, win));
    look(win, 4 * (check_rank + 1), base);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));

    for (int i = 0; i <= check_rank; i++)
        memory[i] = 100 * check_rank + i;
    OK(MPI_Win_create(memory, 4 * (check_rank + 1), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    look(win, 4 * (check_rank + 1), memory);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));

    OK(MPI_Alloc_mem(4 * (check_rank + 1), MPI_INFO_NULL, &base));
    for (int i = 0; i <= check_rank; i++)
        base[i] = 100 * check_rank + i;
    OK(MPI_Win_create(base, 4 * (check_rank + 1), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    look(win, 4 * (check_rank + 1), base);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    return check_end();
}
