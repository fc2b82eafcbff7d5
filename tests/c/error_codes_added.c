/* Error classes, codes and texts of the program: added, looked up, given to a handler, removed.
 *
 * ranks: 1 */
#include "check.h"

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_WORLD);
    handled = *code;
}

int main(int argc, char **argv)
{
    int class = 0, code = 0, other = 0, found = 0, length = -1, before, *last = NULL, flag = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Errhandler mine;
    check_begin(&argc, &argv);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
    CHECK(flag && *last >= MPI_ERR_LASTCODE);
    before = flag ? *last : 0;
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_code(MPI_ERR_TAG, &other));
    CHECK(class > before && code > before && other > before && class != code && code != other);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
    CHECK(flag && *last >= class && *last >= code && *last >= other);
    OK(MPI_Error_class(code, &found));
    CHECK_EQ(found, class);
    OK(MPI_Error_class(other, &found));
    CHECK_EQ(found, MPI_ERR_TAG);
    OK(MPI_Error_string(code, text, &length));
    CHECK_EQ(length, 0);
    OK(MPI_Add_error_string(code, "the well is dry"));
    OK(MPI_Error_string(code, text, &length));
    CHECK_TEXT(text, "the well is dry");
    CHECK_EQ(length, 15);

    OK(MPI_Comm_create_errhandler(handler, &mine));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine));
    OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code));
    CHECK_EQ(handled, code);
    OK(MPI_Errhandler_free(&mine));

    check_errors_return();
    FAILS(MPI_Add_error_string(MPI_ERR_TAG, "no"), MPI_ERR_ARG);
    FAILS(MPI_Add_error_code(code, &other), MPI_ERR_ARG);
    FAILS(MPI_Error_class(1 << 30, &found), MPI_ERR_ARG);
    return check_end();
}
