/* Handles as Fortran's integers and back, and statuses, which are the same in both languages.
 *
 * ranks: 1 2
 * peers: not mpich-abi, whose header has no MPI_Fint */
#define RMA_MPI_FINT
#include "check.h"

#define BACK_AND_FORTH(kind, handle)                                                           \
    do {                                                                                       \
        MPI_Fint number = MPI_##kind##_c2f(handle);                                            \
        CHECK(MPI_##kind##_f2c(number) == (handle));                                           \
    } while (0)

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Info info;
    MPI_Datatype type;
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_Win win;
    MPI_Status status, copy;
    MPI_Fint fortran[sizeof(MPI_Status) / sizeof(MPI_Fint)], number;
    int word = 5, count = -1;
    check_begin(&argc, &argv);
    BACK_AND_FORTH(Comm, MPI_COMM_WORLD);
    BACK_AND_FORTH(Comm, MPI_COMM_SELF);
    BACK_AND_FORTH(Type, MPI_DOUBLE);
    BACK_AND_FORTH(Op, MPI_SUM);
    BACK_AND_FORTH(Errhandler, MPI_ERRORS_RETURN);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_group(comm, &group));
    OK(MPI_Info_create(&info));
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Comm_get_errhandler(comm, &handler));
    OK(MPI_Win_create(&word, sizeof word, sizeof word, MPI_INFO_NULL, comm, &win));
    BACK_AND_FORTH(Comm, comm);
    BACK_AND_FORTH(Group, group);
    BACK_AND_FORTH(Info, info);
    BACK_AND_FORTH(Type, type);
    BACK_AND_FORTH(Errhandler, handler);
    BACK_AND_FORTH(Win, win);

    OK(MPI_Irecv(&word, 1, MPI_INT, check_rank, 3, comm, &request));
    BACK_AND_FORTH(Request, request);
    /* As a library does that gets a request from Fortran. */
    number = MPI_Request_c2f(request);
    request = MPI_Request_f2c(number);
    OK(MPI_Send(&check_size, 1, MPI_INT, check_rank, 3, comm));
    OK(MPI_Wait(&request, &status));
    CHECK(MPI_Request_f2c(MPI_Request_c2f(request)) == MPI_REQUEST_NULL);
    OK(MPI_Status_c2f(&status, fortran));
    memset(&copy, 0, sizeof copy);
    OK(MPI_Status_f2c(fortran, &copy));
    MPI_F08_status newer;
    MPI_Status again;
    OK(MPI_Status_f2f08(fortran, &newer));
    CHECK_EQ(newer.MPI_TAG, status.MPI_TAG);
    newer.MPI_TAG++;
    OK(MPI_Status_f082c(&newer, &again));
    CHECK_EQ(again.MPI_TAG, status.MPI_TAG + 1);
    again.MPI_TAG++;
    OK(MPI_Status_c2f08(&again, &newer));
    MPI_Fint older[MPI_F_STATUS_SIZE];
    OK(MPI_Status_f082f(&newer, older));
    CHECK_EQ(older[MPI_F_TAG], status.MPI_TAG + 2);
    CHECK_EQ(copy.MPI_SOURCE, check_rank);
    CHECK_EQ(copy.MPI_TAG, 3);
    OK(MPI_Get_count(&copy, MPI_INT, &count));
    CHECK_EQ(count, 1);

    OK(MPI_Win_free(&win));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Type_free(&type));
    OK(MPI_Info_free(&info));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_disconnect(&comm));
    CHECK(comm == MPI_COMM_NULL);
    return check_end();
}
