/* What the predefined communicators begin with is what the launcher says: first word, the handler; errors before the beginning go to
 * it too. */
#include "faults.h"

int main(int argc, char **argv)
{
    MPI_Errhandler expected = MPI_ERRORS_ARE_FATAL, found;
    MPI_Comm made;
    char value[64];
    int flag, length = sizeof value, code;
    if (!strcmp(argv[1], "mpi_errors_return"))
        expected = MPI_ERRORS_RETURN;
    if (!strcmp(argv[1], "mpi_errors_abort"))
        expected = MPI_ERRORS_ABORT;
    if (expected == MPI_ERRORS_RETURN) {
        code = MPI_Barrier(MPI_COMM_WORLD);
        CHECK(code != MPI_SUCCESS);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found));
    CHECK(found == expected);
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &found));
    CHECK(found == expected);
    OK(MPI_Info_get_string(MPI_INFO_ENV, "mpi_initial_errhandler", &length, value, &flag));
    CHECK(flag && !strcmp(value, argv[1]));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &made));
    OK(MPI_Comm_get_errhandler(made, &found));
    CHECK(found == expected);
    OK(MPI_Comm_free(&made));
    MPI_Barrier(MPI_COMM_WORLD);
    if (expected == MPI_ERRORS_RETURN)
        CLASS(MPI_Send(&flag, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    else if (rank == 0)
        MPI_Send(&flag, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    return end();
}
