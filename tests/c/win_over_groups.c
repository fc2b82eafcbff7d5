/* Windows over groups that overlap, each made and freed again and again, in one order or the other; each is a new one of its group.
 *
 * ranks: 1 2 4
 * peers: not mpich, whose 4.0 accumulates to another rank */
#include "check.h"

enum { ROUNDS = 3 };

/* A window over these ranks is used, and freed. */
static void use(MPI_Comm comm, int key)
{
    MPI_Win win;
    MPI_Group group, all;
    long *base, one = 1;
    void *value;
    int size, result, flag, rank;
    OK(MPI_Comm_size(comm, &size));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, comm, &base, &win));
    OK(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Win_set_attr(win, key, NULL));
    OK(MPI_Win_get_group(win, &group));
    OK(MPI_Comm_group(comm, &all));
    OK(MPI_Group_compare(group, all, &result));
    CHECK_EQ(result, MPI_IDENT);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&all));
    *base = 0;
    OK(MPI_Barrier(comm));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, size - 1, 0, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(*base, rank == size - 1 ? size : 0);
    OK(MPI_Win_free(&win));
}

static void groups_overlap(int key)
{
    /* The ranks but one, from lowest and from highest. */
    for (int round = 0; round < ROUNDS; round++)
        for (int out = 0; out <= check_size; out++)
            for (int turn = 1; turn >= -1; turn -= 2) {
                MPI_Comm comm;
                OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank == out ? MPI_UNDEFINED : 0, turn * check_rank, &comm));
                if (comm == MPI_COMM_NULL)
                    continue;
                use(comm, key);
                if (round % 2 == 0)
                    use(comm, key);
                OK(MPI_Comm_free(&comm));
            }
}

int main(int argc, char **argv)
{
    int key;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL));
    groups_overlap(key);
    OK(MPI_Win_free_keyval(&key));
    return check_end();
}
