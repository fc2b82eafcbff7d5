/* Shared windows: wrong arguments are errors on all ranks, and none hangs; queries of windows that have no segments.
 *
 * ranks: 1 2 4
 * nodes: one
 * memcheck: yes */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Win win = MPI_WIN_NULL;
    int *base, unit, other = check_rank;
    MPI_Aint size;
    check_begin(&argc, &argv);
    check_errors_return();
    int odd = check_rank == check_size - 1;
    for (int fault = 0; fault < 3; fault++) {
        int code = MPI_Win_allocate_shared(odd && fault == 0 ? -8 : 8, odd && fault == 1 ? 0 : 1, MPI_INFO_NULL,
                                           MPI_COMM_WORLD, odd && fault == 2 ? NULL : &base, &win);
        int class = MPI_SUCCESS;
        MPI_Error_class(code, &class);
        if (odd)
            CHECK_EQ(class, fault == 0 ? MPI_ERR_SIZE : fault == 1 ? MPI_ERR_DISP : MPI_ERR_ARG);
        else
            CHECK_EQ(class, MPI_ERR_OTHER);
        CHECK(win == MPI_WIN_NULL);
    }
    FAILS(MPI_Win_shared_query(MPI_WIN_NULL, 0, &size, &unit, &base), MPI_ERR_WIN);

    OK(MPI_Win_allocate_shared(16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FAILS(MPI_Win_shared_query(win, check_size, &size, &unit, &base), MPI_ERR_RANK);
    FAILS(MPI_Win_shared_query(win, -77, &size, &unit, &base), MPI_ERR_RANK);
    FAILS(MPI_Win_shared_query(win, 0, NULL, &unit, &base), MPI_ERR_ARG);
    FAILS(MPI_Win_shared_query(win, 0, &size, NULL, &base), MPI_ERR_ARG);
    FAILS(MPI_Win_shared_query(win, 0, &size, &unit, NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_attach(win, &other, sizeof other), MPI_ERR_RMA_FLAVOR);
    FAILS(MPI_Win_detach(win, &other), MPI_ERR_RMA_FLAVOR);
    OK(MPI_Win_fence(0, win));
    FAILS(MPI_Put(&other, 1, MPI_INT, check_rank, 4, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));

    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FAILS(MPI_Win_shared_query(win, 0, &size, &unit, &base), MPI_ERR_RMA_FLAVOR);
    OK(MPI_Win_free(&win));
    return check_end();
}
