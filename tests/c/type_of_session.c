/* A datatype that was committed in a session, before MPI_Init, serves in a window.
 *
 * ranks: 1 2
 * peers: not mpich, whose 4.0 loses the put of two ranks
 * peers: not openmpi, which has no sessions before version 5
 * peers: not openmpi-guest, the same */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Datatype type;
    MPI_Win win;
    int *memory, from[3] = {1, 2, 3};
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(sizeof from, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memory[0] = memory[1] = memory[2] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(from, 1, type, (check_rank + 1) % check_size, 0, 1, type, win));
    OK(MPI_Win_fence(0, win));
    CHECK_AT(memory, 0, 1);
    CHECK_AT(memory, 1, 0);
    CHECK_AT(memory, 2, 3);
    OK(MPI_Win_free(&win));
    OK(MPI_Type_free(&type));
    OK(MPI_Session_finalize(&session));
    return check_end();
}
