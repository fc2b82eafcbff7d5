/* Names of communicators, windows and datatypes: predefined ones have theirs, others none until they are given one. A name
 * is bytes in whatever code, and a long one is cut.
 *
 * ranks: 1 2
 * peers: none, they cut, refuse or forget other names */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm comm;
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    check_begin(&argc, &argv);
    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK_TEXT(name, "MPI_COMM_WORLD");
    CHECK_EQ(length, strlen("MPI_COMM_WORLD"));
    OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
    CHECK_TEXT(name, "MPI_COMM_SELF");
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_get_name(comm, name, &length));
    CHECK_TEXT(name, "");
    CHECK_EQ(length, 0);
    OK(MPI_Comm_set_name(comm, "the copy"));
    OK(MPI_Comm_get_name(comm, name, &length));
    CHECK_TEXT(name, "the copy");
    CHECK_EQ(length, 8);

    /* One byte of each of these is no text in UTF-8. */
    char longest[2 * MPI_MAX_OBJECT_NAME];
    memset(longest, 0xe4, sizeof longest);
    longest[sizeof longest - 1] = 0;
    MPI_Win win;
    MPI_Datatype type;
    int *base;
    OK(MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    for (int kind = 0; kind < 4; kind++) {
        memset(name, 0, sizeof name);
        length = -1;
        if (kind == 0) {
            OK(MPI_Comm_set_name(comm, longest));
            OK(MPI_Comm_get_name(comm, name, &length));
        } else if (kind == 1) {
            OK(MPI_Win_set_name(win, longest));
            OK(MPI_Win_get_name(win, name, &length));
        } else {
            OK(MPI_Type_set_name(kind == 2 ? type : MPI_INT, longest));
            OK(MPI_Type_get_name(kind == 2 ? type : MPI_INT, name, &length));
        }
        CHECK_EQ(length, MPI_MAX_OBJECT_NAME - 1);
        CHECK(memcmp(name, longest, MPI_MAX_OBJECT_NAME - 1) == 0 && name[MPI_MAX_OBJECT_NAME - 1] == 0);
    }
    OK(MPI_Type_get_name(MPI_DOUBLE, name, &length));
    CHECK_TEXT(name, "MPI_DOUBLE");

    /* Null handles have the names of their constants. */
    OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
    CHECK_TEXT(name, "MPI_COMM_NULL");
    OK(MPI_Win_get_name(MPI_WIN_NULL, name, &length));
    CHECK_TEXT(name, "MPI_WIN_NULL");
    OK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
    CHECK_TEXT(name, "MPI_DATATYPE_NULL");
    CHECK_EQ(length, strlen("MPI_DATATYPE_NULL"));
    OK(MPI_Type_free(&type));
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&comm));
    return check_end();
}
