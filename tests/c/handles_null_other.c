/* Null handles of infos and error handlers are refused; the null request is an ordinary value.
 *
 * ranks: 1
 * peers: not mpich, where a null info is a bad argument and no bad info
 * peers: not mpich-abi, as mpich */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Info info = MPI_INFO_NULL, copy;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int n = 0, flag = 0;
    check_begin(&argc, &argv);
    check_errors_return();
    FAILS(MPI_Info_set(MPI_INFO_NULL, "key", "value"), MPI_ERR_INFO);
    FAILS(MPI_Info_get_nkeys(MPI_INFO_NULL, &n), MPI_ERR_INFO);
    FAILS(MPI_Info_dup(MPI_INFO_NULL, &copy), MPI_ERR_INFO);
    FAILS(MPI_Info_free(&info), MPI_ERR_INFO);
    CHECK(MPI_Errhandler_free(&handler) != MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRHANDLER_NULL) != MPI_SUCCESS);

    memset(&status, 7, sizeof status);
    OK(MPI_Wait(&request, &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
    OK(MPI_Get_count(&status, MPI_INT, &n));
    CHECK_EQ(n, 0);
    OK(MPI_Test(&request, &flag, &status));
    CHECK(flag);
    FAILS(MPI_Request_free(&request), MPI_ERR_REQUEST);
    return check_end();
}
