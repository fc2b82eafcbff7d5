/* A process with sessions only, one after the other: its part in the job ends when it exits, and no rank waits for another before
 * that.
 *
 * ranks: 1 2 4
 * peers: none, as in sessions.c */
#include "check.h"

static void once(int number)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int mine = check_failures, all = -1;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Group_rank(group, &check_rank));
    OK(MPI_Comm_create_from_group(group, number % 2 ? "odd" : "even", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(all, 0);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Session_finalize(&session));
    CHECK(session == MPI_SESSION_NULL);
}

int main(void)
{
    int flag = -1;
    check_watch();
    for (int number = 0; number < 5; number++)
        once(number);
    OK(MPI_Initialized(&flag));
    CHECK_EQ(flag, 0);
    OK(MPI_Finalized(&flag));
    CHECK_EQ(flag, 0);
    if (check_rank == 0)
        printf(check_failures == 0 ? "no errors\n" : "%d checks failed\n", check_failures);
    return check_failures > 0;
}
