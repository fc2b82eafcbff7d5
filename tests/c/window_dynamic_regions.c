/* Dynamic windows: many regions, absolute addresses, accesses across neighbours, detaching in any order.
 *
 * ranks: 1 2 4
 * memcheck: yes */
#include "check.h"

enum { REGIONS = 300, INTS = 6 };

int main(int argc, char **argv)
{
    static int memory[REGIONS][INTS];
    int *window_base, *unit, *flavor, flag, got[2 * INTS], put[2 * INTS];
    MPI_Aint *size, base, *bases;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_DYNAMIC);
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &window_base, &flag));
    CHECK(flag && window_base == MPI_BOTTOM);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag));
    CHECK(flag && *size == 0);
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag && *unit == 1);

    /* In an order that is neither ascending nor descending. */
    for (int i = 0; i < REGIONS; i++) {
        int at = i * 7 % REGIONS;
        for (int j = 0; j < INTS; j++)
            memory[at][j] = check_rank * 100000 + at * INTS + j;
        OK(MPI_Win_attach(win, memory[at], sizeof memory[at]));
    }
    bases = malloc((size_t)check_size * sizeof *bases);
    OK(MPI_Get_address(memory, &base));
    OK(MPI_Allgather(&base, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD));

    /* Regions that touch are one piece of memory. */
    OK(MPI_Win_fence(0, win));
    for (int rank = 0; rank < check_size; rank++)
        for (int at = 0; at + 2 <= REGIONS; at += 61) {
            MPI_Aint disp = MPI_Aint_add(bases[rank], (MPI_Aint)sizeof(int) * (at * INTS + 3));
            OK(MPI_Get(got, INTS, MPI_INT, rank, disp, INTS, MPI_INT, win));
            OK(MPI_Win_fence(0, win));
            for (int i = 0; i < INTS; i++)
                CHECK_AT(got, i, rank * 100000 + at * INTS + 3 + i);
        }

    /* Each rank writes into a region of all, and counts in another. */
    for (int rank = 0; rank < check_size; rank++) {
        int one = 1;
        put[rank] = 7000 + check_rank;
        OK(MPI_Put(&put[rank], 1, MPI_INT, rank, bases[rank] + (MPI_Aint)sizeof(int) * check_rank, 1, MPI_INT, win));
        OK(MPI_Accumulate(&one, 1, MPI_INT, rank, bases[rank] + (MPI_Aint)sizeof(int) * 20, 1, MPI_INT, MPI_SUM, win));
        OK(MPI_Win_fence(0, win));
    }
    for (int rank = 0; rank < check_size; rank++)
        CHECK_EQ(((int *)memory)[rank], 7000 + rank);
    CHECK_EQ(((int *)memory)[20], check_rank * 100000 + 20 + check_size);

    /* Passive: a list of elements that are attached one by one. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 20; round++) {
        long *element = malloc(sizeof *element);
        MPI_Aint mine, theirs;
        int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
        long old = -1, add = 1000 + check_rank;
        *element = round;
        OK(MPI_Win_attach(win, element, sizeof *element));
        OK(MPI_Get_address(element, &mine));
        OK(MPI_Sendrecv(&mine, 1, MPI_AINT, left, 1, &theirs, 1, MPI_AINT, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
        OK(MPI_Fetch_and_op(&add, &old, MPI_LONG, right, theirs, MPI_SUM, win));
        OK(MPI_Win_unlock(right, win));
        CHECK_EQ(old, round);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_detach(win, element));
        CHECK_EQ(*element, round + 1000 + left);
        free(element);
    }

    for (int i = 0; i < REGIONS; i++)
        OK(MPI_Win_detach(win, memory[i * 11 % REGIONS]));
    /* Whatever is attached goes with the window. */
    OK(MPI_Win_attach(win, memory, sizeof memory));
    OK(MPI_Win_free(&win));
    free(bases);
    return check_end();
}
