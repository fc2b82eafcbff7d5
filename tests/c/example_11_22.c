/* Example 11.22 of the chapter: chunks are fetched, processed and written back with request-based operations, some at once.
 *
 * ranks: 1 2 4 */
#include "check.h"

enum { STEPS = 20, N = 30, M = 4 };

int main(int argc, char **argv)
{
    double *base, data[M][N];
    MPI_Win win;
    MPI_Request puts[M], get;
    check_begin(&argc, &argv);
    int target = (check_rank + 1) % check_size, j;
    OK(MPI_Win_allocate(STEPS * N * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < STEPS * N; i++)
        base[i] = 1000 * check_rank + i;
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < M; i++)
        puts[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < STEPS; i++) {
        if (i < M)
            j = i;
        else
            OK(MPI_Waitany(M, puts, &j, MPI_STATUS_IGNORE));
        OK(MPI_Rget(data[j], N, MPI_DOUBLE, target, i * N, N, MPI_DOUBLE, win, &get));
        OK(MPI_Wait(&get, MPI_STATUS_IGNORE));
        for (int k = 0; k < N; k++)
            data[j][k] = 2 * data[j][k] + i;
        OK(MPI_Rput(data[j], N, MPI_DOUBLE, target, i * N, N, MPI_DOUBLE, win, &puts[j]));
    }
    OK(MPI_Waitall(M, puts, MPI_STATUSES_IGNORE));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    for (int i = 0; i < STEPS * N; i++)
        CHECK_AT(base, i, 2 * (1000 * check_rank + i) + i / N);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Win_free(&win));
    return check_end();
}
