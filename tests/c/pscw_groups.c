/* Post and start with groups that differ from rank to rank: one to all, all to one, none, oneself, a late starter; waiting
 * and testing for the end.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

static MPI_Group all;
static MPI_Win win;
static int *memory;

static MPI_Group range(int first, int last)
{
    MPI_Group group;
    int ranges[1][3] = {{first, last, 1}};
    if (first > last)
        return MPI_GROUP_EMPTY;
    OK(MPI_Group_range_incl(all, 1, ranges, &group));
    return group;
}

static void leave(MPI_Group group)
{
    if (group != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&group));
}

/* Rank 0 writes to all the others, or all the others to rank 0. */
static void star(int from_centre, int round)
{
    MPI_Group centre = range(0, 0), others = range(1, check_size - 1);
    int is_origin = (check_rank == 0) == from_centre, value = round * 100 + check_rank;
    memory[check_rank] = -1;
    if (is_origin) {
        MPI_Group targets = from_centre ? others : centre;
        OK(MPI_Win_start(targets, 0, win));
        for (int to = from_centre ? 1 : 0; to < (from_centre ? check_size : 1); to++)
            OK(MPI_Put(&value, 1, MPI_INT, to, check_rank, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
    } else {
        int flag = 0;
        OK(MPI_Win_post(from_centre ? centre : others, 0, win));
        if (round % 2) {
            OK(MPI_Win_wait(win));
        } else {
            DOING("MPI_Win_test until the origins are done");
            while (!flag)
                MPI_Win_test(win, &flag);
        }
        for (int from = from_centre ? 0 : 1; from < (from_centre ? 1 : check_size); from++)
            CHECK_AT(memory, from, round * 100 + from);
    }
    leave(centre);
    leave(others);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    OK(MPI_Win_allocate(8 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    for (int round = 0; round < 10; round++) {
        star(1, round);
        star(0, round);
    }

    /* No rank: both epochs are empty and over at once. */
    OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));

    /* Oneself. */
    MPI_Group self = range(check_rank, check_rank);
    int value = 31;
    OK(MPI_Win_post(self, 0, win));
    OK(MPI_Win_start(self, 0, win));
    OK(MPI_Put(&value, 1, MPI_INT, check_rank, 2, 1, MPI_INT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK_EQ(memory[2], 31);
    leave(self);
    OK(MPI_Barrier(MPI_COMM_WORLD));

    /* A chain: each rank exposes to the one before it, writes to the one after it, and the last starts late. */
    if (check_rank == check_size - 1)
        usleep(50000);
    MPI_Group before = range(check_rank - 1, check_rank - 1 < 0 ? -2 : check_rank - 1);
    MPI_Group after = range(check_rank + 1, check_rank + 1 < check_size ? check_rank + 1 : 0);
    OK(MPI_Win_post(before, 0, win));
    OK(MPI_Win_start(after, 0, win));
    if (check_rank + 1 < check_size)
        OK(MPI_Put(&check_rank, 1, MPI_INT, check_rank + 1, 5, 1, MPI_INT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    if (check_rank > 0)
        CHECK_EQ(memory[5], check_rank - 1);
    leave(before);
    leave(after);
    OK(MPI_Win_free(&win));
    OK(MPI_Group_free(&all));
    return check_end();
}
