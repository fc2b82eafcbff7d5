/* A handle as an integer gives the handle back; one of a freed object gives nothing that a call takes.
 *
 * ranks: 1
 * peers: not openmpi mpich, these functions are newer */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Info info;
    MPI_Group group, world_group;
    MPI_Comm comm, stale;
    int value = 0, rank = -1;
    MPI_Request request;
    check_begin(&argc, &argv);
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_NULL)) == MPI_COMM_NULL);
    CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_DOUBLE)) == MPI_DOUBLE);
    CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM);
    CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
    OK(MPI_Info_create(&info));
    CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world_group));
    OK(MPI_Group_incl(world_group, 1, &value, &group));
    CHECK(MPI_Group_toint(group) != MPI_Group_toint(world_group));
    CHECK(MPI_Group_fromint(MPI_Group_toint(group)) == group);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world_group));
    OK(MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request));
    CHECK(MPI_Request_fromint(MPI_Request_toint(request)) == request);
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

    check_errors_return();
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    value = MPI_Comm_toint(comm);
    CHECK(MPI_Comm_fromint(value) == comm);
    OK(MPI_Comm_free(&comm));
    stale = MPI_Comm_fromint(value);
    FAILS(MPI_Comm_rank(stale, &rank), MPI_ERR_COMM);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    stale = MPI_Comm_fromint(value);
    FAILS(MPI_Comm_rank(stale, &rank), MPI_ERR_COMM);
    OK(MPI_Comm_free(&comm));
    return check_end();
}
