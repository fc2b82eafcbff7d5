/* A datatype may be freed while a reduction that was begun with it goes on; the program's function can still ask about it.
 *
 * ranks: 1 2 3 4
 * memcheck: yes
 * peers: not openmpi, whose functions get what is left of the datatype
 * peers: not mpich, likewise
 * peers: not mpich-abi, likewise */
#include "check.h"

static int calls, wrong;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int size = -1;
    MPI_Aint low, extent = -1;
    calls++;
    wrong += MPI_Type_size(*type, &size) != MPI_SUCCESS || size != 2 * (int)sizeof(long);
    wrong += MPI_Type_get_extent(*type, &low, &extent) != MPI_SUCCESS || extent != 3 * (MPI_Aint)sizeof(long);
    long *x = in, *y = inout;
    for (int i = 0; i < *count; i++)
        y[3 * i] += x[3 * i], y[3 * i + 1] += x[3 * i + 1];
}

int main(int argc, char **argv)
{
    MPI_Op op;
    MPI_Datatype pair, padded, stale;
    MPI_Request request;
    long in[6] = {1, 2, -1, 3, 4, -1}, out[6] = {0, 0, 7, 0, 0, 7};
    int size;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Op_create(add, 1, &op));
    OK(MPI_Type_contiguous(2, MPI_LONG, &pair));
    OK(MPI_Type_create_resized(pair, 0, 3 * sizeof(long), &padded));
    OK(MPI_Type_commit(&padded));
    stale = padded;
    OK(MPI_Iallreduce(in, out, 2, padded, op, MPI_COMM_WORLD, &request));
    OK(MPI_Type_free(&padded));
    OK(MPI_Type_free(&pair));
    OK(MPI_Op_free(&op));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(wrong, 0);
    for (int i = 0; i < 6; i++)
        CHECK_AT(out, i, i % 3 == 2 ? 7 : in[i] * check_size);
    /* Nothing keeps it any more. */
    FAILS(MPI_Type_size(stale, &size), MPI_ERR_TYPE);
    return check_end();
}
