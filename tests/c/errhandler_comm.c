/* Error handlers of communicators: set, get, inherited by dup, called with handle and code, alive while in use.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: not mpich-abi, whose 5.0 returns success after a handler of the program */
#include "check.h"

static int calls, last_class;
static MPI_Comm last_comm;

static void note(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_comm = *comm;
    MPI_Error_class(*code, &last_class);
}

static void other(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    calls += 100;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler, second, got;
    MPI_Comm comm, copy;
    int value = 0, class = -1;
    check_begin(&argc, &argv);

    /* Fatal by default, of the predefined communicators and of their copies. */
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Errhandler_free(&got));
    CHECK(got == MPI_ERRHANDLER_NULL);
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Errhandler_free(&got));

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(note, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == handler);
    OK(MPI_Errhandler_free(&got));
    /* Freed by the program, but the communicator still has it. */
    OK(MPI_Errhandler_free(&handler));
    CHECK(handler == MPI_ERRHANDLER_NULL);

    int code = MPI_Send(&value, 1, MPI_INT, check_size + 3, 0, comm);
    OK(MPI_Error_class(code, &class));
    CHECK_EQ(class, MPI_ERR_RANK);
    CHECK_EQ(calls, 1);
    CHECK_EQ(last_class, MPI_ERR_RANK);
    CHECK(last_comm == comm);

    /* A copy has the same handler, and is passed to it. */
    OK(MPI_Comm_dup(comm, &copy));
    code = MPI_Send(&value, -1, MPI_INT, 0, 0, copy);
    CHECK_EQ(calls, 2);
    CHECK_EQ(last_class, MPI_ERR_COUNT);
    CHECK(last_comm == copy);
    OK(MPI_Comm_create_errhandler(other, &second));
    OK(MPI_Comm_set_errhandler(copy, second));
    OK(MPI_Errhandler_free(&second));
    code = MPI_Send(&value, 1, MPI_INT, 0, -7, comm);
    CHECK_EQ(calls, 3);
    CHECK_EQ(last_class, MPI_ERR_TAG);
    code = MPI_Send(&value, 1, MPI_INT, 0, -7, copy);
    CHECK_EQ(calls, 103);

    /* Called by the program itself. */
    OK(MPI_Comm_call_errhandler(comm, MPI_ERR_TRUNCATE));
    CHECK_EQ(calls, 104);
    CHECK_EQ(last_class, MPI_ERR_TRUNCATE);
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_call_errhandler(comm, MPI_ERR_TRUNCATE));
    CHECK_EQ(calls, 104);
    FAILS(MPI_Send(&value, 1, MPI_INT, check_size, 0, comm), MPI_ERR_RANK);
    CHECK_EQ(calls, 104);

    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&comm));
    return check_end();
}
