/* Displacements count in units of the target, which may differ from the origin's and between ranks, and need not divide
 * anything.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

enum { BYTES = 240 };

static int unit_of(int rank)
{
    const int units[] = {1, 4, 3, 8, 12, 7, 2, 16};
    return units[rank % 8];
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int allocated = 0; allocated < 2; allocated++) {
        MPI_Win win;
        unsigned char own[BYTES], *memory = own, out[8][3], in[3];
        if (allocated)
            OK(MPI_Win_allocate(BYTES, unit_of(check_rank), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        else
            OK(MPI_Win_create(memory, BYTES, unit_of(check_rank), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        memset(memory, 0xaa, BYTES);
        OK(MPI_Win_fence(0, win));
        /* Each rank puts three bytes at displacement `origin` of every rank: units below 3 overlap, so those are left out. */
        for (int to = 0; to < check_size; to++) {
            memset(out[to], check_rank * 16 + to, 3);
            if (unit_of(to) >= 3)
                OK(MPI_Put(out[to], 3, MPI_BYTE, to, check_rank, 3, MPI_BYTE, win));
        }
        OK(MPI_Win_fence(0, win));
        for (int i = 0; i < BYTES; i++) {
            int unit = unit_of(check_rank), wanted = 0xaa;
            if (unit >= 3 && i / unit < check_size && i % unit < 3)
                wanted = i / unit * 16 + check_rank;
            CHECK_AT(memory, i, wanted);
        }
        OK(MPI_Win_fence(0, win));
        /* The last bytes of the window, by the greatest displacement that has room. */
        int to = (check_rank + 1) % check_size, last = (BYTES - 1) / unit_of(to), rest = BYTES - last * unit_of(to);
        memset(in, 0, sizeof in);
        OK(MPI_Get(in, 1, MPI_BYTE, to, last, 1, MPI_BYTE, win));
        OK(MPI_Win_fence(0, win));
        CHECK_EQ(in[0], 0xaa);
        CHECK(rest >= 1);
        OK(MPI_Win_free(&win));
    }
    return check_end();
}
