/* Attributes of the program: copied by its functions when a communicator is duplicated, deleted by them when the value is
 * replaced or the communicator freed, the last one first on MPI_COMM_SELF at the end.
 *
 * ranks: 1 3 */
#include "check.h"

static int copies, deletions, refuse_copy, refuse_delete;
static int order[8], ordered;
static int state;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)keyval;
    CHECK(extra == &state);
    CHECK(comm == MPI_COMM_WORLD);
    copies++;
    if (refuse_copy)
        return MPI_ERR_OTHER;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    CHECK(extra == &state);
    deletions++;
    return refuse_delete ? MPI_ERR_ARG : MPI_SUCCESS;
}

static int note(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int flag = 0;
    (void)keyval;
    (void)extra;
    CHECK(comm == MPI_COMM_SELF);
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Finalized(&flag);
    CHECK(!flag);
    order[ordered++] = *(int *)value;
    return MPI_SUCCESS;
}

static int nothing(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key, dup_key, null_key, last_key, flag, numbers[3] = {0, 1, 2};
    char values[8];
    void *value = NULL;
    MPI_Comm copied, again;
    check_begin(&argc, &argv);
    OK(MPI_Comm_create_keyval(copy, delete, &key, &state));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_key, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, nothing, &null_key, NULL));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &values[0]));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, dup_key, &values[4]));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, null_key, &values[5]));
    CHECK_EQ(deletions, 0);
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &values[1]));
    CHECK_EQ(deletions, 1);

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copied));
    CHECK_EQ(copies, 1);
    OK(MPI_Comm_get_attr(copied, key, &value, &flag));
    CHECK(flag && value == &values[2]);
    OK(MPI_Comm_get_attr(copied, dup_key, &value, &flag));
    CHECK(flag && value == &values[4]);
    OK(MPI_Comm_get_attr(copied, null_key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_delete_attr(copied, key));
    CHECK_EQ(deletions, 2);
    OK(MPI_Comm_get_attr(copied, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_free(&copied));
    CHECK_EQ(deletions, 2);
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &copied));
    OK(MPI_Comm_get_attr(copied, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_free(&copied));

    check_errors_return();
    refuse_copy = 1;
    FAILS(MPI_Comm_dup(MPI_COMM_WORLD, &again), MPI_ERR_OTHER);
    refuse_copy = 0;
    refuse_delete = 1;
    FAILS(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_ERR_ARG);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    CHECK(flag && value == &values[1]);
    refuse_delete = 0;

    /* A freed key is in force where it is attached. */
    last_key = key;
    OK(MPI_Comm_free_keyval(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, last_key));
    FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, last_key, &values[0]), MPI_ERR_KEYVAL);
    FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &values[0]), MPI_ERR_KEYVAL);
    FAILS(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL);
    FAILS(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, dup_key));
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, null_key));
    OK(MPI_Comm_free_keyval(&dup_key));
    OK(MPI_Comm_free_keyval(&null_key));

    for (int i = 0; i < 3; i++) {
        OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note, &key, NULL));
        OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &numbers[i]));
        OK(MPI_Comm_free_keyval(&key));
    }
    int status = check_end();
    return status != 0 || ordered != 3 || order[0] != 2 || order[1] != 1 || order[2] != 0;
}
