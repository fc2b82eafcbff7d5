/* Calls outside the epoch they need, or against one that is open, are MPI_ERR_RMA_SYNC, and the open epoch goes on.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: not openmpi, which lets some of them through
 * peers: not mpich, which lets some of them through
 * peers: not mpich-abi, which lets some of them through */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Group self, all;
    int *memory, value = 3, got = 0, flag;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &check_rank, &self));
    *memory = 8;

    /* No epoch at all. */
    FAILS(MPI_Put(&value, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Get(&got, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Fetch_and_op(&value, &got, MPI_INT, check_rank, 0, MPI_SUM, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_unlock(check_rank, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_flush(check_rank, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
    CHECK_EQ(*memory, 8);

    /* A lock is held. */
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win));
    FAILS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_start(self, 0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    if (check_size > 1) {
        int other = 1 - check_rank;
        FAILS(MPI_Put(&value, 1, MPI_INT, other, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
        FAILS(MPI_Win_unlock(other, win), MPI_ERR_RMA_SYNC);
    }
    OK(MPI_Put(&value, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win));
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));

    /* lock_all. */
    OK(MPI_Win_lock_all(0, win));
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_unlock(check_rank, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    OK(MPI_Get(&got, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win));
    OK(MPI_Win_unlock_all(win));
    CHECK_EQ(got, 3);
    OK(MPI_Barrier(MPI_COMM_WORLD));

    /* Between start and complete, and post and wait. */
    OK(MPI_Win_post(self, 0, win));
    FAILS(MPI_Win_post(self, 0, win), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_start(self, 0, win));
    FAILS(MPI_Win_start(self, 0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    value = 4;
    OK(MPI_Put(&value, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK_EQ(*memory, 4);
    OK(MPI_Barrier(MPI_COMM_WORLD));

    /* A fence epoch with operations. */
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(&got, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win));
    FAILS(MPI_Win_flush(check_rank, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_unlock(check_rank, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_EQ(got, 4);
    OK(MPI_Group_free(&self));
    OK(MPI_Group_free(&all));
    OK(MPI_Win_free(&win));
    return check_end();
}
