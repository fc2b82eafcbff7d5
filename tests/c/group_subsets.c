/* Subgroups by lists and by ranges, in both directions, and ranks that are refused.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

/* Members of `group` as ranks of `all`; frees it. */
static int members(MPI_Group group, MPI_Group all, int *list)
{
    int size = -1, from[16];
    OK(MPI_Group_size(group, &size));
    for (int i = 0; i < size; i++)
        from[i] = i;
    OK(MPI_Group_translate_ranks(group, size, from, all, list));
    if (group != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&group));
    return size;
}

int main(int argc, char **argv)
{
    MPI_Group all, group;
    int list[16], size, last;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    last = check_size - 1;

    /* A list turns the order; leaving out keeps it. */
    int reverse[16];
    for (int i = 0; i < check_size; i++)
        reverse[i] = last - i;
    OK(MPI_Group_incl(all, check_size, reverse, &group));
    size = members(group, all, list);
    CHECK_EQ(size, check_size);
    for (int i = 0; i < size; i++)
        CHECK_AT(list, i, last - i);
    int out[1] = {last / 2};
    OK(MPI_Group_excl(all, 1, out, &group));
    size = members(group, all, list);
    CHECK_EQ(size, last);
    for (int i = 0; i < size; i++)
        CHECK_AT(list, i, i < out[0] ? i : i + 1);
    OK(MPI_Group_excl(all, 0, NULL, &group));
    CHECK_EQ(members(group, all, list), check_size);
    OK(MPI_Group_incl(all, 0, NULL, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    OK(MPI_Group_excl(all, check_size, reverse, &group));
    CHECK(group == MPI_GROUP_EMPTY);

    /* Ranges: every second one upwards, then the others downwards. */
    int ranges[2][3] = {{0, last, 2}, {last % 2 ? last : last - 1, 0, -2}};
    OK(MPI_Group_range_incl(all, check_size > 1 ? 2 : 1, ranges, &group));
    size = members(group, all, list);
    CHECK_EQ(size, check_size);
    int evens = (check_size + 1) / 2;
    for (int i = 0; i < size; i++)
        CHECK_AT(list, i, i < evens ? 2 * i : 2 * (check_size - i) - 1);
    int middle[1][3] = {{0, last, 2}};
    OK(MPI_Group_range_excl(all, 1, middle, &group));
    size = members(group, all, list);
    CHECK_EQ(size, check_size - evens);
    for (int i = 0; i < size; i++)
        CHECK_AT(list, i, 2 * i + 1);

    int outside[1] = {check_size}, negative[1] = {-1};
    FAILS(MPI_Group_incl(all, 1, outside, &group), MPI_ERR_RANK);
    FAILS(MPI_Group_incl(all, 1, negative, &group), MPI_ERR_RANK);
    FAILS(MPI_Group_excl(all, 1, outside, &group), MPI_ERR_RANK);
    OK(MPI_Group_free(&all));
    return check_end();
}
