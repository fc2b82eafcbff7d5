/* Hints belong to one communicator: duplicates have none (since MPI 4.0), or those that they are made with.
 *
 * ranks: 1 2
 * peers: not openmpi, whose 4.1 has an older standard, and keeps no hints
 * peers: not mpich, whose 4.0 copies them */
#include "check.h"

static const char hint[] = "mpi_assert_no_any_tag";

/* Whether a communicator has the hint. */
static int has(MPI_Comm comm)
{
    MPI_Info used;
    char value[16] = "";
    int flag = 0;
    OK(MPI_Comm_get_info(comm, &used));
    OK(MPI_Info_get(used, hint, (int)sizeof value - 1, value, &flag));
    OK(MPI_Info_free(&used));
    return flag && strcmp(value, "true") == 0;
}

int main(int argc, char **argv)
{
    MPI_Comm comm, copies[4];
    MPI_Info info;
    MPI_Request request;
    check_begin(&argc, &argv);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, hint, "true"));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK(!has(comm));
    OK(MPI_Comm_set_info(comm, info));
    CHECK(has(comm));
    OK(MPI_Comm_dup(comm, &copies[0]));
    OK(MPI_Comm_idup(comm, &copies[1], &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copies[2]));
    OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &copies[3], &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(has(copies[i]), i >= 2);
        OK(MPI_Comm_free(&copies[i]));
    }
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_free(&comm));
    return check_end();
}
