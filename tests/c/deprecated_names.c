/* Names that the standard has deprecated and not removed, which every header declares.
 *
 * ranks: 1 */
#include "check.h"

static int deleted;

static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    deleted += *(int *)value;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int keyval, seven = 7, flag = 0, *found = NULL;
    MPI_Comm copy;
    check_begin(&argc, &argv);
    OK(MPI_Keyval_create(MPI_DUP_FN, forget, &keyval, NULL));
    OK(MPI_Attr_put(MPI_COMM_WORLD, keyval, &seven));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Attr_get(copy, keyval, &found, &flag));
    CHECK(flag && found == &seven);
    OK(MPI_Comm_free(&copy));
    CHECK_EQ(deleted, 7);
    OK(MPI_Attr_delete(MPI_COMM_WORLD, keyval));
    CHECK_EQ(deleted, 14);
    OK(MPI_Keyval_free(&keyval));
    CHECK_EQ(keyval, MPI_KEYVAL_INVALID);
    return check_end();
}
