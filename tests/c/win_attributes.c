/* What a window knows of itself: base, size, unit, flavour, model, group; each rank may have another size and unit.
 *
 * ranks: 1 2 4
 * memcheck: yes */
#include "check.h"

static void expect(MPI_Win win, void *base, MPI_Aint size, int unit, int flavor)
{
    void *is_base = NULL;
    MPI_Aint *is_size = NULL;
    int *number = NULL, flag = 0, result = -1;
    MPI_Group mine, all;
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &is_base, &flag));
    CHECK(flag && (size == 0 || is_base == base));
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &is_size, &flag));
    CHECK(flag);
    CHECK_EQ(*is_size, size);
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &flag));
    CHECK(flag);
    CHECK_EQ(*number, unit);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &number, &flag));
    CHECK(flag);
    CHECK_EQ(*number, flavor);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &number, &flag));
    CHECK(flag && (*number == MPI_WIN_UNIFIED || *number == MPI_WIN_SEPARATE));
    OK(MPI_Win_get_group(win, &mine));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    OK(MPI_Group_compare(mine, all, &result));
    CHECK_EQ(result, MPI_IDENT);
    OK(MPI_Group_free(&mine));
    OK(MPI_Group_free(&all));
}

int main(int argc, char **argv)
{
    MPI_Win win;
    char memory[800], *base;
    check_begin(&argc, &argv);
    MPI_Aint size = 8 * check_rank;
    int unit = 1 << check_rank % 4;
    OK(MPI_Win_create(memory, size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    expect(win, memory, size, unit, MPI_WIN_FLAVOR_CREATE);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate(size + 8, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    CHECK(base != NULL);
    expect(win, base, size + 8, unit, MPI_WIN_FLAVOR_ALLOCATE);
    OK(MPI_Win_free(&win));
    return check_end();
}
