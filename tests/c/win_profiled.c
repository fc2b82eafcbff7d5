/* A profiler in front: MPI_ names that the program defines itself, around the library's PMPI_ names.
 *
 * ranks: 2 */
#include "check.h"

static int puts_seen, fences_seen, errors_seen;

int MPI_Put(const void *origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint disp,
            int target_count, MPI_Datatype target_type, MPI_Win win)
{
    int code = PMPI_Put(origin, origin_count, origin_type, rank, disp, target_count, target_type, win);
    puts_seen++;
    errors_seen += code != MPI_SUCCESS;
    return code;
}

int MPI_Win_fence(int assert, MPI_Win win)
{
    fences_seen++;
    return PMPI_Win_fence(assert, win);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    int *base, value, next;
    check_begin(&argc, &argv);
    next = (check_rank + 1) % check_size;
    OK(MPI_Win_allocate(2 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    base[0] = base[1] = -1;
    OK(MPI_Win_fence(0, win));
    value = 100 + check_rank;
    OK(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win));
    OK(PMPI_Put(&value, 1, MPI_INT, next, 1, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(base[0], 100 + (check_rank + check_size - 1) % check_size);
    CHECK_EQ(base[1], base[0]);
    CHECK(MPI_Put(&value, 1, MPI_INT, check_size + 5, 0, 1, MPI_INT, win) != MPI_SUCCESS);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_EQ(puts_seen, 2);
    CHECK_EQ(fences_seen, 3);
    CHECK_EQ(errors_seen, 1);
    OK(MPI_Win_free(&win));
    return check_end();
}
