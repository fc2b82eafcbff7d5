/* Communication calls with a request, completed by every call that completes requests, together with messages and
 * collectives; several of them in one epoch, of derived types too.
 *
 * ranks: 1 2 4 */
#include "check.h"

int main(int argc, char **argv)
{
    enum { SLOTS = 16, KINDS = 6 };
    long *base = NULL, out[SLOTS], in[SLOTS], old = -1, add = 5, ones[SLOTS];
    int word = 0, index = 0, flag = 0, count = 0, indices[KINDS];
    MPI_Win win;
    MPI_Datatype column;
    MPI_Request requests[KINDS];
    MPI_Status statuses[KINDS], status;
    check_begin(&argc, &argv);
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_allocate(SLOTS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    for (int i = 0; i < SLOTS; i++)
        base[i] = 0, out[i] = 100 * check_rank + i, in[i] = -1, ones[i] = 1;
    OK(MPI_Type_vector(4, 1, 2, MPI_LONG, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Barrier(MPI_COMM_WORLD));

    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Rput(out, 8, MPI_LONG, to, 0, 8, MPI_LONG, win, &requests[0]));
    OK(MPI_Wait(&requests[0], &status));
    CHECK(requests[0] == MPI_REQUEST_NULL);
    for (int i = 0; i < 8; i++)
        out[i] = -7;
    OK(MPI_Win_flush(to, win));
    OK(MPI_Rget(in, 4, MPI_LONG, to, 0, 1, column, win, &requests[0]));
    OK(MPI_Irecv(&word, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Rput(&add, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win, &requests[2]));
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[3]));
    OK(MPI_Raccumulate(ones, 2, MPI_LONG, to, 12, 2, MPI_LONG, MPI_SUM, win, &requests[4]));
    OK(MPI_Isend(&check_rank, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[5]));
    OK(MPI_Waitall(KINDS, requests, statuses));
    for (int i = 0; i < 4; i++)
        CHECK_AT(in, i, 100 * check_rank + 2 * i);
    CHECK_EQ(word, from);
    OK(MPI_Win_flush(to, win));
    OK(MPI_Rget_accumulate(&add, 1, MPI_LONG, &old, 1, MPI_LONG, to, 12, 1, MPI_LONG, MPI_SUM, win, &requests[0]));
    OK(MPI_Waitany(1, requests, &index, &status));
    CHECK_EQ(index, 0);
    CHECK_EQ(old, 1);
    OK(MPI_Rget_accumulate(NULL, 0, MPI_LONG, &old, 1, MPI_LONG, to, 12, 1, MPI_LONG, MPI_NO_OP, win, &requests[1]));
    for (count = 0; count == 0;)
        OK(MPI_Testsome(2, requests, &count, indices, statuses));
    CHECK_EQ(count, 1);
    CHECK_AT(indices, 0, 1);
    CHECK_EQ(old, 6);
    OK(MPI_Rget(in, 1, MPI_LONG, to, 13, 1, MPI_LONG, win, &requests[0]));
    for (flag = 0; !flag;)
        OK(MPI_Test(&requests[0], &flag, &status));
    CHECK_AT(in, 0, 1);
    /* The epoch completes what is not waited for. */
    OK(MPI_Rput_c(&add, 1, MPI_LONG, to, 15, 1, MPI_LONG, win, &requests[0]));
    OK(MPI_Win_flush(to, win));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    for (int i = 0; i < 8; i++)
        CHECK_AT(base, i, 100 * from + i);
    CHECK_AT(base, 12, 6);
    CHECK_AT(base, 15, 5);
    OK(MPI_Win_unlock(check_rank, win));

    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FAILS(MPI_Rput(&add, 1, MPI_LONG, check_size, 0, 1, MPI_LONG, win, &requests[0]), MPI_ERR_RANK);
    FAILS(MPI_Rput(&add, 1, MPI_LONG, to, 0, 1, MPI_LONG, win, &requests[0]), MPI_ERR_RMA_SYNC);
    OK(MPI_Type_free(&column));
    OK(MPI_Win_free(&win));
    return check_end();
}
