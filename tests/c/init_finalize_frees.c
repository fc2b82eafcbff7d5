/* Finalize with objects alive that the program never freed: groups, types, infos, error handlers, communicators. The
 * functions that are to be called once only still are.
 *
 * ranks: 1 2 4 */
#include "check.h"

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

int main(int argc, char **argv)
{
    MPI_Group group;
    MPI_Datatype type;
    MPI_Info info;
    MPI_Errhandler errhandler;
    MPI_Comm comm;
    check_begin(&argc, &argv);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Info_create(&info));
    OK(MPI_Comm_create_errhandler(handler, &errhandler));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, errhandler));
    OK(MPI_Barrier(comm));
    return check_end();
}
