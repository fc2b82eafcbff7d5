/* Arguments of window calls that are refused, each with its class, without an effect on the epoch.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: not openmpi, which checks fewer of them
 * peers: not mpich, where an unknown kind of lock is a bad argument of no class of its own
 * peers: not mpich-abi, as mpich */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Win win, none;
    MPI_Datatype uncommitted;
    long *memory, value = 1, result = 2;
    void *base;
    check_begin(&argc, &argv);
    check_errors_return();
    CHECK(MPI_Win_allocate(-8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none) != MPI_SUCCESS);
    FAILS(MPI_Win_create(&value, -8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &none), MPI_ERR_SIZE);
    CHECK(MPI_Win_create(&value, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &none) != MPI_SUCCESS);
    CHECK(MPI_Win_create(&value, 8, -1, MPI_INFO_NULL, MPI_COMM_WORLD, &none) != MPI_SUCCESS);
    FAILS(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &base, &none), MPI_ERR_COMM);

    OK(MPI_Win_allocate(4 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Type_contiguous(2, MPI_LONG, &uncommitted));
    *memory = 5;
    OK(MPI_Win_fence(0, win));
    FAILS(MPI_Put(&value, 1, MPI_LONG, check_size, 0, 1, MPI_LONG, win), MPI_ERR_RANK);
    FAILS(MPI_Put(&value, 1, MPI_LONG, -33, 0, 1, MPI_LONG, win), MPI_ERR_RANK);
    FAILS(MPI_Put(&value, -1, MPI_LONG, 0, 0, 1, MPI_LONG, win), MPI_ERR_COUNT);
    FAILS(MPI_Get(&value, 1, MPI_LONG, 0, 0, -1, MPI_LONG, win), MPI_ERR_COUNT);
    FAILS(MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_LONG, win), MPI_ERR_TYPE);
    FAILS(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, uncommitted, win), MPI_ERR_TYPE);
    FAILS(MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_OP_NULL, win), MPI_ERR_OP);
    FAILS(MPI_Accumulate(&value, 1, MPI_LONG, check_size, 0, 1, MPI_LONG, MPI_SUM, win), MPI_ERR_RANK);
    FAILS(MPI_Fetch_and_op(&value, &result, MPI_LONG, check_size, 0, MPI_SUM, win), MPI_ERR_RANK);
    FAILS(MPI_Compare_and_swap(&value, &value, &result, MPI_LONG, check_size, 0, win), MPI_ERR_RANK);
    CHECK(MPI_Compare_and_swap(&value, &value, &result, MPI_DOUBLE, 0, 0, win) != MPI_SUCCESS);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_EQ(*memory, 5);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, check_size, 0, win), MPI_ERR_RANK);
    FAILS(MPI_Win_lock(12345, 0, 0, win), MPI_ERR_LOCKTYPE);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    FAILS(MPI_Win_flush(check_size, win), MPI_ERR_RANK);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Type_free(&uncommitted));
    OK(MPI_Win_free(&win));
    return check_end();
}
