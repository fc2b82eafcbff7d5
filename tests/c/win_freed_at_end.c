/* MPI_Finalize calls the delete functions of attributes of MPI_COMM_SELF first, while MPI is whole (MPI 5.0 §11.2.4): one of them uses a
 * window, frees it, and gives its memory back.
 *
 * ranks: 1 2 4 */
#include "check.h"

static MPI_Win win;
static int *memory;
static int is_freed;

static int free_window(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)state;
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int sent = 100 + check_rank;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&sent, 1, MPI_INT, right, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(memory[0], 100 + left);
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    OK(MPI_Free_mem(memory));
    is_freed = 1;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key;
    check_begin(&argc, &argv);
    OK(MPI_Alloc_mem(sizeof *memory, MPI_INFO_NULL, &memory));
    OK(MPI_Win_create(memory, sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_window, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
    OK(MPI_Finalize());
    CHECK(is_freed);
    /* As check_end says it, which calls MPI. */
    if (check_failures != 0)
        return 1;
    if (check_rank == 0)
        printf("no errors\n");
    return 0;
}
