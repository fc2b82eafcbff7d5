/* The null handle of each kind is refused with the class of its kind.
 *
 * ranks: 1 2
 * memcheck: yes */
#include "check.h"

static void communicators(void)
{
    MPI_Comm comm, null = MPI_COMM_NULL;
    MPI_Group group;
    int n, value = 0;
    FAILS(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM);
    FAILS(MPI_Comm_rank(MPI_COMM_NULL, &n), MPI_ERR_COMM);
    FAILS(MPI_Comm_group(MPI_COMM_NULL, &group), MPI_ERR_COMM);
    FAILS(MPI_Comm_dup(MPI_COMM_NULL, &comm), MPI_ERR_COMM);
    FAILS(MPI_Comm_split(MPI_COMM_NULL, 0, 0, &comm), MPI_ERR_COMM);
    FAILS(MPI_Comm_free(&null), MPI_ERR_COMM);
    FAILS(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_NULL, &n), MPI_ERR_COMM);
    FAILS(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL, MPI_STATUS_IGNORE), MPI_ERR_COMM);
    FAILS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Comm_set_errhandler(MPI_COMM_NULL, MPI_ERRORS_RETURN), MPI_ERR_COMM);
}

static void groups(void)
{
    MPI_Group group = MPI_GROUP_NULL;
    int n, zero = 0;
    FAILS(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
    FAILS(MPI_Group_rank(MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
    FAILS(MPI_Group_incl(MPI_GROUP_NULL, 1, &zero, &group), MPI_ERR_GROUP);
    FAILS(MPI_Group_union(MPI_GROUP_EMPTY, MPI_GROUP_NULL, &group), MPI_ERR_GROUP);
    FAILS(MPI_Group_compare(MPI_GROUP_NULL, MPI_GROUP_EMPTY, &n), MPI_ERR_GROUP);
    FAILS(MPI_Group_translate_ranks(MPI_GROUP_EMPTY, 0, NULL, MPI_GROUP_NULL, NULL), MPI_ERR_GROUP);
    FAILS(MPI_Group_free(&group), MPI_ERR_GROUP);
}

static void types_and_operations(void)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Aint low, extent;
    int n, value = 0, sum;
    FAILS(MPI_Type_size(MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE);
    FAILS(MPI_Type_get_extent(MPI_DATATYPE_NULL, &low, &extent), MPI_ERR_TYPE);
    FAILS(MPI_Type_commit(&type), MPI_ERR_TYPE);
    FAILS(MPI_Type_free(&type), MPI_ERR_TYPE);
    FAILS(MPI_Type_contiguous(2, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    FAILS(MPI_Type_vector(2, 1, 2, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    FAILS(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    FAILS(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
}

static void windows(void)
{
    MPI_Win win = MPI_WIN_NULL;
    MPI_Group group;
    int value = 0;
    FAILS(MPI_Win_free(&win), MPI_ERR_WIN);
    FAILS(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, MPI_WIN_NULL), MPI_ERR_WIN);
    FAILS(MPI_Win_unlock(0, MPI_WIN_NULL), MPI_ERR_WIN);
    FAILS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL), MPI_ERR_WIN);
    FAILS(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL), MPI_ERR_WIN);
    FAILS(MPI_Win_flush(0, MPI_WIN_NULL), MPI_ERR_WIN);
    FAILS(MPI_Win_get_group(MPI_WIN_NULL, &group), MPI_ERR_WIN);
    FAILS(MPI_Win_set_errhandler(MPI_WIN_NULL, MPI_ERRORS_RETURN), MPI_ERR_WIN);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_errors_return();
    communicators();
    groups();
    types_and_operations();
    windows();
    return check_end();
}
