/* Communicators from groups: by all ranks of the parent, with one group or with several that are disjoint; by the members
 * alone; two at once with different tags.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

static void expect(MPI_Comm comm, int rank, int size)
{
    int is_rank = -1, is_size = -1, one = 1, sum = -1;
    OK(MPI_Comm_rank(comm, &is_rank));
    OK(MPI_Comm_size(comm, &is_size));
    CHECK_EQ(is_rank, rank);
    CHECK_EQ(is_size, size);
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, size);
}

int main(int argc, char **argv)
{
    MPI_Group all, group;
    MPI_Comm comm;
    check_begin(&argc, &argv);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));

    /* The lower half, in falling order; the others call, and get nothing. */
    int half = (check_size + 1) / 2, range[1][3] = {{half - 1, 0, -1}};
    OK(MPI_Group_range_incl(all, 1, range, &group));
    OK(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
    if (check_rank < half) {
        expect(comm, half - 1 - check_rank, half);
        OK(MPI_Comm_free(&comm));
    } else {
        CHECK(comm == MPI_COMM_NULL);
    }
    OK(MPI_Group_free(&group));

    /* Odd and even in one call. */
    int every_second[1][3] = {{check_rank % 2, check_size - 1, 2}};
    OK(MPI_Group_range_incl(all, 1, every_second, &group));
    OK(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
    int members = (check_size + 1 - check_rank % 2) / 2;
    expect(comm, check_rank / 2, members);
    OK(MPI_Comm_free(&comm));

    /* The members alone, while the odd ones have not called yet. */
    if (check_rank % 2 == 0) {
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 11, &comm));
        expect(comm, check_rank / 2, members);
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank % 2 == 1) {
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 11, &comm));
        expect(comm, check_rank / 2, members);
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Group_free(&group));

    /* A chain of pairs: every inner rank is in two communicators, and they are made in an order that needs tags. */
    for (int at = 0; at + 1 < check_size; at++) {
        int pair[2] = {at, at + 1};
        if (check_rank != at && check_rank != at + 1)
            continue;
        OK(MPI_Group_incl(all, 2, pair, &group));
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, at, &comm));
        expect(comm, check_rank - at, 2);
        OK(MPI_Comm_free(&comm));
        OK(MPI_Group_free(&group));
    }
    OK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm));
    CHECK(comm == MPI_COMM_NULL);
    OK(MPI_Group_free(&all));
    return check_end();
}
