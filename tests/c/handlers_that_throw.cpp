// Error handlers that leave by an exception, of a window on its fast path's call and on another one, and of a communicator; what was held
// before is held still.
#include <mpi.h>

#include <cstdio>
#include <stdexcept>

static void on_window(MPI_Win *, int *code, ...)
{
    throw *code;
}

static void on_comm(MPI_Comm *, int *code, ...)
{
    throw *code;
}

template <typename Call> static int thrown(Call call)
{
    int code = 0;
    try {
        call();
    } catch (int caught) {
        MPI_Error_class(caught, &code);
    }
    return code;
}

int main(int argc, char **argv)
{
    int rank, wrong = 0;
    long *memory, value = 7;
    MPI_Win win;
    MPI_Errhandler of_window, of_comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_create_errhandler(on_window, &of_window);
    MPI_Win_set_errhandler(win, of_window);
    MPI_Comm_create_errhandler(on_comm, &of_comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_comm);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    for (int i = 0; i < 3; i++) {
        wrong += thrown([&] { MPI_Put(&value, 1, MPI_LONG, 99, 0, 1, MPI_LONG, win); }) != MPI_ERR_RANK;
        wrong += thrown([&] { MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win); }) != MPI_ERR_RMA_SYNC;
        wrong += thrown([&] { MPI_Send(&value, 1, MPI_LONG, 99, 0, MPI_COMM_WORLD); }) != MPI_ERR_RANK;
    }
    MPI_Put(&value, 1, MPI_LONG, rank, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(rank, win);
    wrong += memory[0] != 7;
    MPI_Win_free(&win);
    MPI_Errhandler_free(&of_window);
    MPI_Errhandler_free(&of_comm);
    std::printf("%d wrong\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
