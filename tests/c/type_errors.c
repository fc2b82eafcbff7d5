/* What is refused about types: negative counts, freeing predefined ones, communication before commit.
 *
 * ranks: 1 2
 * memcheck: yes */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Datatype type, predefined = MPI_INT;
    int value[4] = {0};
    check_begin(&argc, &argv);
    check_errors_return();
    FAILS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_vector(-1, 1, 1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK(MPI_Type_vector(1, -1, 1, MPI_INT, &type) != MPI_SUCCESS);
    FAILS(MPI_Type_free(&predefined), MPI_ERR_TYPE);
    CHECK(predefined == MPI_INT);
    OK(MPI_Type_commit(&predefined));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    FAILS(MPI_Send(value, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    FAILS(MPI_Bcast(value, 1, type, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    OK(MPI_Type_free(&type));
    return check_end();
}
