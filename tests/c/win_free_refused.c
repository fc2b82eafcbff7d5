/* A window that cannot be freed now stays as it is: its attributes are not deleted, its handle and its epoch go on.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: none, they free windows inside epochs, or end the job */
#include "check.h"

static int deletes;

static int on_delete(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)win, (void)keyval, (void)extra;
    deletes++;
    return value == NULL ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_Win win;
    int *memory, keyval, flag, one = 1, *value;
    check_begin(&argc, &argv);
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, NULL));
    OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_set_attr(win, keyval, &one));
    *memory = 0;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win));
    FAILS(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
    CHECK(win != MPI_WIN_NULL);
    CHECK_EQ(deletes, 0);
    OK(MPI_Win_get_attr(win, keyval, &value, &flag));
    CHECK(flag && value == &one);
    OK(MPI_Put(&one, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win));
    OK(MPI_Win_unlock(check_rank, win));
    CHECK_EQ(*memory, 1);

    /* A delete function that fails keeps the window too. */
    OK(MPI_Win_set_attr(win, keyval, NULL));
    CHECK_EQ(deletes, 1);
    FAILS(MPI_Win_free(&win), MPI_ERR_OTHER);
    CHECK_EQ(deletes, 2);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    FAILS(MPI_Win_set_attr(win, keyval, &one), MPI_ERR_OTHER);
    CHECK_EQ(deletes, 3);
    OK(MPI_Win_free_keyval(&keyval));

    /* Freed at the end with all that is left of it: the window that could not be freed stays until then. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return check_end();
}
