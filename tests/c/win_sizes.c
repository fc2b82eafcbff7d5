/* Windows of different sizes, nothing among them; every byte can be reached and none beside it is touched.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

static int size_of(int rank)
{
    const int sizes[] = {0, 1, 100, 4096, 0, 70000, 3, 8};
    return sizes[(rank + 2) % 8];
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int allocated = 0; allocated < 2; allocated++) {
        MPI_Win win;
        int size = size_of(check_rank), right = (check_rank + 1) % check_size;
        int there = size_of(right), left = (check_rank + check_size - 1) % check_size;
        unsigned char *memory = malloc((size_t)size + 16), *own = memory, *out = malloc((size_t)there + 1);
        memset(own, 0xcc, (size_t)size + 16);
        if (allocated)
            OK(MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        else
            OK(MPI_Win_create(size == 0 ? NULL : memory, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        memset(out, check_rank + 1, (size_t)there + 1);
        OK(MPI_Win_fence(0, win));
        OK(MPI_Put(out, there, MPI_BYTE, right, 0, there, MPI_BYTE, win));
        OK(MPI_Win_fence(0, win));
        for (int i = 0; i < size; i++)
            CHECK_AT(memory, i, left + 1);
        for (int i = allocated ? 0 : size; i < size + 16; i++)
            CHECK_AT(own, i, 0xcc);
        OK(MPI_Win_free(&win));
        free(own);
        free(out);
    }
    return check_end();
}
