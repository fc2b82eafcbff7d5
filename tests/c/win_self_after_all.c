/* Windows on communicators of one rank, of each kind, behind a window of all ranks.
 *
 * ranks: 1 2 3
 * peers: not openmpi, it has not each kind on one rank */
#include "check.h"

#include <stdlib.h>

static void use(MPI_Win win)
{
    long value = 40 + check_rank, got = -1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Put(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    OK(MPI_Get(&got, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(0, win));
    CHECK_EQ(got, value);
}

static void use_dynamic(MPI_Comm comm)
{
    long memory[2] = {1, 2}, got = -1;
    MPI_Aint at;
    MPI_Win win;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win));
    OK(MPI_Win_attach(win, memory, sizeof memory));
    OK(MPI_Get_address(&memory[1], &at));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Get(&got, 1, MPI_LONG, 0, at, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(0, win));
    CHECK_EQ(got, 2);
    OK(MPI_Win_detach(win, memory));
    OK(MPI_Win_free(&win));
}

static void use_all(MPI_Comm comm)
{
    long *memory, created[2];
    MPI_Win win;
    OK(MPI_Win_create(created, sizeof created, sizeof *created, MPI_INFO_NULL, comm, &win));
    use(win);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &win));
    use(win);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate_shared(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &win));
    use(win);
    OK(MPI_Win_free(&win));
    use_dynamic(comm);
}

int main(int argc, char **argv)
{
    long *memory;
    MPI_Win win;
    MPI_Comm alone;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    use_all(MPI_COMM_SELF);
    OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank, 0, &alone));
    use_all(alone);
    OK(MPI_Comm_free(&alone));
    OK(MPI_Win_free(&win));
    return check_end();
}
