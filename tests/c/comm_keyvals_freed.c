/* A key that is freed while it is attached stays in force there, and may be freed again by the number that a delete function
 * is given; once it is attached nowhere, it is no key any more.
 *
 * ranks: 1
 * memcheck: yes
 * peers: not openmpi, which refuses what was freed once */
#include "check.h"

static int deletions;

static int free_again(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)value, (void)extra;
    deletions++;
    return MPI_Comm_free_keyval(&keyval);
}

int main(int argc, char **argv)
{
    int key, copy, last, flag = -1;
    void *value = NULL;
    MPI_Comm one, two;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Comm_dup(MPI_COMM_SELF, &one));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &two));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_again, &key, NULL));
    last = copy = key;
    OK(MPI_Comm_set_attr(one, key, &deletions));
    OK(MPI_Comm_set_attr(two, key, &deletions));
    OK(MPI_Comm_free(&one));
    CHECK_EQ(deletions, 1);
    OK(MPI_Comm_free_keyval(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
    OK(MPI_Comm_free_keyval(&copy));
    OK(MPI_Comm_get_attr(two, last, &value, &flag));
    CHECK(flag == 1 && value == &deletions);
    OK(MPI_Comm_free(&two));
    CHECK_EQ(deletions, 2);
    FAILS(MPI_Comm_free_keyval(&last), MPI_ERR_KEYVAL);

    /* Never attached: gone at once. */
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_again, &key, NULL));
    copy = key;
    OK(MPI_Comm_free_keyval(&key));
    FAILS(MPI_Comm_free_keyval(&copy), MPI_ERR_KEYVAL);
    return check_end();
}
