/* Shared windows: contiguous in rank order unless the program allows gaps, sizes 0 among them, and every rank finds every
 * other's memory; displacement units differ.
 *
 * ranks: 1 2 4 8
 * nodes: one
 * memcheck: yes */
#include "check.h"

/* Bytes of a rank: none for some, odd numbers for others. */
static MPI_Aint bytes_of(int rank, int pattern)
{
    switch (pattern) {
    case 0: return 24 * (rank + 1);
    case 1: return rank % 2 == 0 ? 0 : 5 + rank;
    case 2: return rank % 2 == 0 ? 4096 + rank : 0;
    case 3: return rank == check_size - 1 ? 100000 : 0;
    default: return 0;
    }
}

static void look(MPI_Win win, int pattern, int contiguous, char *mine)
{
    char *base, *end = NULL, *lowest = NULL;
    MPI_Aint size, lowest_size = 0;
    int unit;
    for (int rank = 0; rank < check_size; rank++) {
        MPI_Aint expected = bytes_of(rank, pattern);
        OK(MPI_Win_shared_query(win, rank, &size, &unit, &base));
        CHECK_EQ(size, expected);
        CHECK_EQ(unit, rank + 1);
        if (rank == check_rank)
            CHECK(base == mine);
        if (expected > 0 && lowest == NULL) {
            lowest = base;
            lowest_size = expected;
            CHECK((uintptr_t)base % 16 == 0);
        }
        if (contiguous && rank > 0)
            CHECK(base == end);
        if (!contiguous && expected > 0)
            CHECK((uintptr_t)base % 64 == 0);
        end = base + size;
    }
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &base));
    CHECK_EQ(size, lowest_size);
    if (lowest != NULL)
        CHECK(base == lowest);
}

static void run(int pattern, int contiguous)
{
    MPI_Win win;
    MPI_Info info;
    char *mine, *base;
    MPI_Aint size, units;
    int unit, *flavor, flag;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "alloc_shared_noncontig", contiguous ? "false" : "true"));
    if (pattern % 2 == 0)
        OK(MPI_Win_allocate_shared(bytes_of(check_rank, pattern), check_rank + 1, info, MPI_COMM_WORLD, &mine, &win));
    else
        OK(MPI_Win_allocate_shared_c(bytes_of(check_rank, pattern), check_rank + 1, info, MPI_COMM_WORLD, &mine, &win));
    OK(MPI_Info_free(&info));
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_SHARED);
    look(win, pattern, contiguous, mine);
    OK(MPI_Win_shared_query_c(win, check_rank, &size, &units, &base));
    CHECK_EQ(units, check_rank + 1);

    /* Each rank fills its own memory and reads all with plain loads. */
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (MPI_Aint i = 0; i < bytes_of(check_rank, pattern); i++) {
        CHECK_EQ(mine[i], 0);
        mine[i] = (char)(check_rank * 7 + i % 11);
    }
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_sync(win));
    for (int rank = 0; rank < check_size; rank++) {
        OK(MPI_Win_shared_query(win, rank, &size, &unit, &base));
        for (MPI_Aint i = 0; i < size; i++)
            CHECK_AT(base, i, (char)(rank * 7 + i % 11));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));

    /* Operations and stores meet in the same memory. */
    int right = (check_rank + 1) % check_size;
    char value = (char)(100 + check_rank);
    if (bytes_of(right, pattern) > 2 * (right + 1)) {
        OK(MPI_Put(&value, 1, MPI_CHAR, right, 2, 1, MPI_CHAR, win));
        OK(MPI_Win_flush(right, win));
        OK(MPI_Win_shared_query(win, right, &size, &unit, &base));
        CHECK_EQ(base[2 * (right + 1)], value);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int pattern = 0; pattern <= 4; pattern++)
        for (int contiguous = 0; contiguous < 2; contiguous++)
            run(pattern, contiguous);
    return check_end();
}
