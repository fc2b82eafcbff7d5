/* Windows over memory of MPI_Alloc_mem, whole, in part, long and short, and with other memory on some rank: they work alike,
 * and where the library maps allocated windows it maps this memory too.
 *
 * ranks: 1 2 4 8
 * peers: not mpich, memory of MPI_Alloc_mem is private there
 * peers: not openmpi, memory of MPI_Alloc_mem is private there
 * nodes: one
 * memcheck: yes */
#include "check.h"

static MPI_Aint mapped(MPI_Win win, int rank)
{
    MPI_Aint size;
    int unit;
    char *base;
    OK(MPI_Win_shared_query(win, rank, &size, &unit, &base));
    return size;
}

static void use(int *memory, int count, MPI_Aint expected)
{
    MPI_Win win;
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int value = 500 + check_rank, old = -1, one = 1;
    for (int i = 0; i < count; i++)
        memory[i] = i;
    OK(MPI_Win_create(memory, (MPI_Aint)sizeof(int) * count, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CHECK_EQ(mapped(win, right), expected);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_INT, right, count - 1, 1, MPI_INT, win));
    OK(MPI_Accumulate(&one, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(memory[count - 1], 500 + left);
    CHECK_EQ(memory[0], 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
    OK(MPI_Fetch_and_op(&one, &old, MPI_INT, right, 1, MPI_SUM, win));
    OK(MPI_Win_unlock(right, win));
    CHECK_EQ(old, 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQ(memory[1], 2);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    static int other[1000];
    int *memory, *base;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    int maps = mapped(win, (check_rank + 1) % check_size) > 0;
    OK(MPI_Win_free(&win));
    /* A rank's own memory can always be reached. */
    int own = check_size == 1;

    static const int counts[] = {3, 1000, 100000, 12000000};
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        MPI_Aint bytes = (MPI_Aint)sizeof(int) * counts[i];
        OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory));
        for (int round = 0; round < 3; round++)
            use(memory, counts[i], maps || own ? bytes : 0);
        if (counts[i] >= 1000)
            use(memory + 10, counts[i] - 20, maps || own ? bytes - 80 : 0);
        OK(MPI_Free_mem(memory));
    }
    /* One rank has other memory: all work by messages. */
    OK(MPI_Alloc_mem(sizeof other, MPI_INFO_NULL, &memory));
    use(check_rank == check_size - 1 ? other : memory, 1000, own ? (MPI_Aint)sizeof other : 0);
    OK(MPI_Free_mem(memory));
    return check_end();
}
