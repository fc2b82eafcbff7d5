/* Rank 1 dies with the lock of rank 0, in the middle of a change: one of those that get the lock after it learns of it, once, and puts
 * right what is half done. */
#include "faults.h"

int main(int argc, char **argv)
{
    long *pair;
    MPI_Win win;
    int held = 0, kind, died = -1, again = -1, all;
    begin(&argc, &argv);
    kind = !strcmp(argv[1], "shared") ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
    OK(MPI_Win_allocate(2 * sizeof *pair, sizeof *pair, MPI_INFO_NULL, MPI_COMM_WORLD, &pair, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    pair[0] = pair[1] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1) {
        long half = 7;
        OK(MPI_Win_lock(kind, 0, 0, win));
        OK(MPI_Put(&half, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        for (int to = 0; to < size; to++)
            if (to != 1)
                OK(MPI_Ssend(&held, 1, MPI_INT, to, 0, MPI_COMM_WORLD));
        die();
    }
    OK(MPI_Recv(&held, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CLASS(MPIX_Win_get_owner_died(win, 0, &died), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPIX_Win_get_owner_died(win, 0, &died));
    OK(MPIX_Win_get_owner_died(win, 0, &again));
    CHECK(again == 0);
    if (died) {
        long right = 7;
        printf("rank %d inherits\n", rank);
        OK(MPI_Put(&right, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
    }
    OK(MPI_Win_unlock(0, win));
    CLASS(MPIX_Win_get_owner_died(win, size, &died), MPI_ERR_RANK);
    /* The rank that learned of it has unlocked before all have agreed. */
    all = 1;
    CLASS(MPIX_Comm_agree(MPI_COMM_WORLD, &all), MPIX_ERR_PROC_FAILED);
    if (rank == 0)
        CHECK(pair[0] == 7 && pair[1] == 7);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPIX_Win_get_owner_died(win, 0, &died));
    CHECK(died == 0);
    OK(MPI_Win_unlock(0, win));
    /* The window is not used any more. */
    CLASS(MPIX_Comm_agree(MPI_COMM_WORLD, &all), MPIX_ERR_PROC_FAILED);
    /* It fails, because of the dead or because others have left it for that. */
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
    return end();
}
