/* The function of a window's attribute finds what the window is while it is freed, also within MPI_Finalize, where it may be the function of
 * an attribute of MPI_COMM_WORLD that frees windows and memory.
 *
 * ranks: 1 2 4
 * peers: not openmpi, 4.1 crashes in MPI_Finalize
 * peers: not openmpi-guest, the same */
#include "check.h"

#include <stdlib.h>

enum { WORDS = 6 };

static int calls;
static void *base;

static int on_delete(MPI_Win win, int key, void *value, void *state)
{
    void *found = NULL;
    MPI_Aint *size = NULL;
    int *unit = NULL, *flavor = NULL, *model = NULL, flag = 0;
    (void)key, (void)value, (void)state;
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &found, &flag));
    CHECK(flag && found == base);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag));
    CHECK(flag && *size == WORDS * (MPI_Aint)sizeof(long));
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag && *unit == sizeof(long));
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_CREATE);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag));
    CHECK(flag && (*model == MPI_WIN_UNIFIED || *model == MPI_WIN_SEPARATE));
    calls++;
    return MPI_SUCCESS;
}

static MPI_Win created(int key)
{
    MPI_Win win;
    OK(MPI_Win_create(base, WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_attr(win, key, NULL));
    return win;
}

/* The last words of the program: whatever fails here is its status. */
static int on_end(MPI_Comm comm, int key, void *win, void *state)
{
    (void)comm, (void)key, (void)state;
    OK(MPI_Win_free(win));
    CHECK_EQ(calls, 2);
    OK(MPI_Free_mem(base));
    if (check_failures != 0)
        exit(1);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static MPI_Win left;
    int key, key_of_world;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Alloc_mem(WORDS * sizeof(long), MPI_INFO_NULL, &base));
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &key, NULL));
    win = created(key);
    OK(MPI_Win_free(&win));
    CHECK_EQ(calls, 1);
    left = created(key);
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_end, &key_of_world, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key_of_world, &left));
    return check_end();
}
