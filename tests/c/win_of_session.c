/* A window on a communicator of a session, without MPI_Init.
 *
 * ranks: 1 2 4
 * peers: not openmpi, which has no sessions before version 5
 * peers: not openmpi-guest, the same */
#include "check.h"

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Win win;
    int *memory, one = 1;
    check_watch();
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "windows", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_rank(comm, &check_rank));
    OK(MPI_Comm_size(comm, &check_size));
    OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &win));
    *memory = 0;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(*memory, check_rank == 0 ? check_size : 0);
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
    if (check_failures != 0)
        return 1;
    if (check_rank == 0)
        printf("no errors\n");
    return 0;
}
