/* A rank that skips a collective and ends its part in the job, on a communicator whose ranks were hardly in contact: a rank
 * that waits for it gets an error and does not wait for ever.
 *
 * ranks: 2 4 8
 * peers: none, they wait for ever */
#include "check.h"

int main(int argc, char **argv)
{
    int in = 1, out = -1, class = MPI_SUCCESS, error;
    MPI_Comm comm;
    check_begin(&argc, &argv);
    int skips = check_size > 3 ? 3 : 1;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int i = 0; i < 5; i++)
        OK(MPI_Barrier(comm));
    if (check_rank != skips) {
        /* Awake, or asleep for long. */
        DOING("MPI_Reduce without one of its ranks");
        error = MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, comm);
        MPI_Error_class(error, &class);
        CHECK(class == MPI_ERR_PROC_ABORTED || (check_rank != 0 && class == MPI_SUCCESS));
        CHECK_EQ(out, -1);
    } else {
        usleep(150000);
    }
    DOING("MPI_Finalize");
    MPI_Finalize();
    if (check_rank == 0 && check_failures == 0)
        printf("no errors\n");
    return check_failures != 0;
}
