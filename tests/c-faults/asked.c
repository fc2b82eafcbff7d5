/* A program asks by an info key that the job goes on, in the way that its first word names; then the last rank dies, and the others
 * go on without it. */
#include "faults.h"

static int goes_on(void)
{
    int *on, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &on, &flag);
    return flag && *on;
}

static int is_told_by(MPI_Info info)
{
    int flag, length = 16;
    char value[16];
    MPI_Info_get_string(info, "rma_on_failure", &length, value, &flag);
    MPI_Info_free(&info);
    return flag && !strcmp(value, "continue");
}

int main(int argc, char **argv)
{
    int ok = 1, way = atoi(argv[1]), i_ask;
    long *memory;
    MPI_Info info, used;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(!goes_on());
    OK(MPI_Comm_get_info(MPI_COMM_WORLD, &used));
    CHECK(!is_told_by(used));
    /* A rank is enough. */
    i_ask = rank == 0 || way == 4;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "rma_on_failure", i_ask ? "continue" : "launcher"));
    if (way == 0)
        OK(MPI_Comm_set_info(MPI_COMM_WORLD, info));
    if (way == 1)
        OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made));
    if (way == 2)
        OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, info, MPI_COMM_WORLD, &memory, &win));
    if (way == 3) {
        OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        OK(MPI_Win_set_info(win, info));
    }
    /* Of a rank alone. */
    if (way == 4)
        OK(MPI_Comm_set_info(MPI_COMM_SELF, info));
    OK(MPI_Info_free(&info));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(goes_on());
    OK(MPI_Comm_get_info(MPI_COMM_WORLD, &used));
    CHECK(is_told_by(used));
    if (win != MPI_WIN_NULL) {
        OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        OK(MPI_Win_get_info(win, &used));
        CHECK(is_told_by(used));
    }
    /* The last one may be gone before the others have left it. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        die();
    /* It is told of to all. */
    CLASS(MPI_Recv(&ok, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    CLASS(MPIX_Comm_agree(MPI_COMM_WORLD, &ok), MPIX_ERR_PROC_FAILED);
    if (win != MPI_WIN_NULL)
        MPI_Win_free(&win);
    if (made != MPI_COMM_NULL)
        OK(MPI_Comm_free(&made));
    return end();
}
