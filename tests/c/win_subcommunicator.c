/* Windows on parts of the job and in another order of ranks: a window's ranks are those of its communicator.
 *
 * ranks: 1 2 3 4 8
 * memcheck: yes */
#include "check.h"

static void ring(MPI_Comm comm)
{
    MPI_Win win;
    int rank, size, *memory, world;
    MPI_Group group;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    OK(MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &win));
    memory[0] = memory[1] = -1;
    OK(MPI_Win_get_group(win, &group));
    OK(MPI_Group_size(group, &world));
    CHECK_EQ(world, size);
    OK(MPI_Group_rank(group, &world));
    CHECK_EQ(world, rank);
    OK(MPI_Group_free(&group));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
    OK(MPI_Put(&check_rank, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    int from = (rank + size - 1) % size, expected = -1;
    CHECK_EQ(memory[0], from);
    OK(MPI_Sendrecv(&check_rank, 1, MPI_INT, (rank + 1) % size, 0, &expected, 1, MPI_INT, from, 0, comm,
                    MPI_STATUS_IGNORE));
    CHECK_EQ(memory[1], expected);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    check_begin(&argc, &argv);
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comm));
    ring(comm);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &comm));
    ring(comm);
    OK(MPI_Comm_free(&comm));
    ring(MPI_COMM_SELF);
    /* The communicator may go before the window. */
    MPI_Win win;
    int *memory, value = check_rank + 7;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, comm, &memory, &win));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_INT, (check_rank + 1) % check_size, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(*memory, (check_rank + check_size - 1) % check_size + 7);
    OK(MPI_Win_free(&win));
    return check_end();
}
