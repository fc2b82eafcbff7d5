/* Each window is a new one: what the program gave the one before, attributes, name and handler, is gone with that, once.
 *
 * ranks: 1 2 4
 * memcheck: yes */
#include "check.h"

static int deleted[3];

static int count(MPI_Win win, int key, void *value, void *which)
{
    int *unit = NULL, flag = 0;
    (void)key;
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag && *unit == 8);
    CHECK_EQ(*(int *)value, check_rank);
    ++*(int *)which;
    return MPI_SUCCESS;
}

static int calls;

static void handle(MPI_Win *win, int *code, ...)
{
    (void)win;
    (void)code;
    ++calls;
}

/* A window over these ranks that nothing is known of, used as others are. */
static void use(MPI_Comm comm, const int *keys, int of_keys, const char *name)
{
    MPI_Win win;
    MPI_Errhandler handler;
    MPI_Group group, all;
    long *base, one = 1, sum = -1;
    char text[MPI_MAX_OBJECT_NAME];
    void *value;
    int i, flag, length, size, result;
    OK(MPI_Comm_size(comm, &size));
    OK(MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, comm, &base, &win));
    *base = 0;
    for (i = 0; i < of_keys; ++i) {
        OK(MPI_Win_get_attr(win, keys[i], &value, &flag));
        CHECK(!flag);
    }
    OK(MPI_Win_get_name(win, text, &length));
    CHECK(strcmp(text, name) != 0);
    OK(MPI_Win_get_errhandler(win, &handler));
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Win_get_group(win, &group));
    OK(MPI_Comm_group(comm, &all));
    OK(MPI_Group_compare(group, all, &result));
    CHECK_EQ(result, MPI_IDENT);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&all));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(&sum, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(sum, size);
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
}

int main(int argc, char **argv)
{
    MPI_Win win, other;
    MPI_Comm twin, turned;
    MPI_Errhandler handler;
    long *base, *base2;
    int keys[3], mine, i;
    check_begin(&argc, &argv);
    mine = check_rank;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &turned));
    for (i = 0; i < 3; ++i)
        OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, count, &keys[i], &deleted[i]));
    OK(MPI_Win_create_errhandler(handle, &handler));

    OK(MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_set_name(win, "marked"));
    OK(MPI_Win_set_errhandler(win, handler));
    OK(MPI_Win_set_attr(win, keys[0], &mine));
    OK(MPI_Win_set_attr(win, keys[0], &mine));
    CHECK_EQ(deleted[0], 1);
    OK(MPI_Win_set_attr(win, keys[1], &mine));
    OK(MPI_Win_delete_attr(win, keys[1]));
    CHECK_EQ(deleted[1], 1);
    /* Only some have this one, whose key is not valid any more. */
    if (check_rank % 2 == 0)
        OK(MPI_Win_set_attr(win, keys[2], &mine));
    OK(MPI_Win_free_keyval(&keys[2]));
    CHECK(MPI_Put(NULL, 1, MPI_LONG, check_size, 0, 1, MPI_LONG, win) != MPI_SUCCESS);
    CHECK_EQ(calls, 1);
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    CHECK_EQ(deleted[0], 2);
    CHECK_EQ(deleted[1], 1);
    CHECK_EQ(deleted[2], check_rank % 2 == 0 ? 1 : 0);

    for (i = 0; i < 3; ++i) {
        use(MPI_COMM_WORLD, keys, 2, "marked");
        use(twin, keys, 2, "marked");
        use(turned, keys, 2, "marked");
        use(MPI_COMM_SELF, keys, 2, "marked");
    }

    /* Two at a time, freed in either order, and a communicator that is gone before its window. */
    for (i = 0; i < 4; ++i) {
        OK(MPI_Win_allocate(8, 8, MPI_INFO_NULL, twin, &base, &win));
        OK(MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base2, &other));
        CHECK(win != other);
        CHECK(base != base2);
        OK(MPI_Win_set_attr(i % 2 ? win : other, keys[0], &mine));
        if (i == 3)
            OK(MPI_Comm_free(&twin));
        OK(MPI_Win_free(i % 2 ? &win : &other));
        CHECK_EQ(deleted[0], 3 + i);
        OK(MPI_Win_free(i % 2 ? &other : &win));
        CHECK_EQ(deleted[0], 3 + i);
        use(MPI_COMM_WORLD, keys, 2, "marked");
    }
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Win_free_keyval(&keys[0]));
    OK(MPI_Win_free_keyval(&keys[1]));
    OK(MPI_Comm_free(&turned));
    return check_end();
}
