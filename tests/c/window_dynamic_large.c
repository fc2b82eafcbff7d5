/* Dynamic windows: long transfers, also across two regions, and detaching right behind them.
 *
 * ranks: 1 2 4 */
#include "check.h"

enum { BYTES = 3 << 20 };

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Aint mine, theirs;
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    unsigned char *memory = malloc(BYTES), *from = malloc(BYTES), *back = malloc(BYTES);
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Get_address(memory, &mine));
    OK(MPI_Sendrecv(&mine, 1, MPI_AINT, left, 1, &theirs, 1, MPI_AINT, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int round = 0; round < 5; round++) {
        size_t cut = (size_t)BYTES / 7 * (size_t)(round + 1);
        memset(memory, 0, BYTES);
        memset(back, 0, BYTES);
        for (size_t i = 0; i < BYTES; i++)
            from[i] = (unsigned char)(i * 31 + i / 255 + (size_t)(check_rank + round));
        OK(MPI_Win_attach(win, memory, (MPI_Aint)cut));
        OK(MPI_Win_attach(win, memory + cut, (MPI_Aint)(BYTES - cut)));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
        OK(MPI_Put(from, BYTES, MPI_BYTE, right, theirs, BYTES, MPI_BYTE, win));
        OK(MPI_Win_flush(right, win));
        OK(MPI_Get(back, BYTES, MPI_BYTE, right, theirs, BYTES, MPI_BYTE, win));
        OK(MPI_Win_unlock(right, win));
        CHECK(memcmp(from, back, BYTES) == 0);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_detach(win, memory + cut));
        OK(MPI_Win_detach(win, memory));
        size_t wrong = 0;
        for (size_t i = 0; i < BYTES; i++)
            wrong += memory[i] != (unsigned char)(i * 31 + i / 255 + (size_t)(left + round));
        CHECK_EQ(wrong, 0);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Win_free(&win));
    free(memory);
    free(from);
    free(back);
    return check_end();
}
