/* A handle that was freed, in a copy that the program kept, is refused with the class of its kind: also when new objects
 * of that kind have been made since.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: none, a freed handle is theirs to crash on */
#include "check.h"

enum { AGAIN = 3 };

static void communicator(void)
{
    MPI_Comm comm, stale, later[AGAIN], copy;
    MPI_Group group;
    int n, value = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    stale = comm;
    OK(MPI_Comm_free(&comm));
    CHECK(comm == MPI_COMM_NULL);
    for (int round = 0; round < 2; round++) {
        FAILS(MPI_Comm_size(stale, &n), MPI_ERR_COMM);
        FAILS(MPI_Comm_rank(stale, &n), MPI_ERR_COMM);
        FAILS(MPI_Comm_group(stale, &group), MPI_ERR_COMM);
        FAILS(MPI_Barrier(stale), MPI_ERR_COMM);
        FAILS(MPI_Send(&value, 1, MPI_INT, 0, 0, stale), MPI_ERR_COMM);
        copy = stale;
        FAILS(MPI_Comm_free(&copy), MPI_ERR_COMM);
        for (int i = 0; round == 0 && i < AGAIN; i++)
            OK(MPI_Comm_dup(MPI_COMM_WORLD, &later[i]));
    }
    for (int i = 0; i < AGAIN; i++) {
        CHECK(later[i] != stale);
        OK(MPI_Comm_size(later[i], &n));
        OK(MPI_Comm_free(&later[i]));
    }
}

static void group(void)
{
    MPI_Group group, stale, later[AGAIN], copy;
    int n;
    OK(MPI_Comm_group(MPI_COMM_SELF, &group));
    stale = group;
    OK(MPI_Group_free(&group));
    CHECK(group == MPI_GROUP_NULL);
    for (int round = 0; round < 2; round++) {
        FAILS(MPI_Group_size(stale, &n), MPI_ERR_GROUP);
        FAILS(MPI_Group_union(stale, MPI_GROUP_EMPTY, &copy), MPI_ERR_GROUP);
        copy = stale;
        FAILS(MPI_Group_free(&copy), MPI_ERR_GROUP);
        for (int i = 0; round == 0 && i < AGAIN; i++)
            OK(MPI_Comm_group(MPI_COMM_WORLD, &later[i]));
    }
    for (int i = 0; i < AGAIN; i++)
        OK(MPI_Group_free(&later[i]));
}

static void type(void)
{
    MPI_Datatype type, stale, later[AGAIN], copy;
    int n, value = 0;
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    stale = type;
    OK(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
    for (int round = 0; round < 2; round++) {
        FAILS(MPI_Type_size(stale, &n), MPI_ERR_TYPE);
        FAILS(MPI_Send(&value, 0, stale, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
        FAILS(MPI_Type_contiguous(2, stale, &copy), MPI_ERR_TYPE);
        copy = stale;
        FAILS(MPI_Type_commit(&copy), MPI_ERR_TYPE);
        FAILS(MPI_Type_free(&copy), MPI_ERR_TYPE);
        for (int i = 0; round == 0 && i < AGAIN; i++)
            OK(MPI_Type_contiguous(i + 1, MPI_INT, &later[i]));
    }
    for (int i = 0; i < AGAIN; i++)
        OK(MPI_Type_free(&later[i]));
}

static void window(void)
{
    MPI_Win win, stale, later[AGAIN], copy;
    MPI_Group group;
    int *base, value = 0;
    OK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    stale = win;
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    for (int round = 0; round < 2; round++) {
        FAILS(MPI_Win_fence(0, stale), MPI_ERR_WIN);
        FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, stale), MPI_ERR_WIN);
        FAILS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, stale), MPI_ERR_WIN);
        FAILS(MPI_Win_get_group(stale, &group), MPI_ERR_WIN);
        copy = stale;
        FAILS(MPI_Win_free(&copy), MPI_ERR_WIN);
        for (int i = 0; round == 0 && i < AGAIN; i++)
            OK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &later[i]));
    }
    for (int i = 0; i < AGAIN; i++)
        OK(MPI_Win_free(&later[i]));
}

static void request(void)
{
    MPI_Request request, stale;
    int flag, in = 0, out = 5;
    OK(MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request));
    stale = request;
    OK(MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_EQ(in, 5);
    request = stale;
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    request = stale;
    FAILS(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    request = stale;
    FAILS(MPI_Request_free(&request), MPI_ERR_REQUEST);
}

static void info(void)
{
    MPI_Info info, stale, later, copy;
    int n;
    OK(MPI_Info_create(&info));
    stale = info;
    OK(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL);
    OK(MPI_Info_create(&later));
    FAILS(MPI_Info_get_nkeys(stale, &n), MPI_ERR_INFO);
    FAILS(MPI_Info_set(stale, "a", "b"), MPI_ERR_INFO);
    copy = stale;
    FAILS(MPI_Info_free(&copy), MPI_ERR_INFO);
    OK(MPI_Info_free(&later));
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

static void errhandler(void)
{
    MPI_Errhandler handler, stale;
    OK(MPI_Comm_create_errhandler(on_error, &handler));
    stale = handler;
    OK(MPI_Errhandler_free(&handler));
    CHECK(handler == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, stale) != MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&stale) != MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_errors_return();
    communicator();
    group();
    type();
    window();
    request();
    info();
    errhandler();
    return check_end();
}
