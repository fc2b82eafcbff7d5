/* Union, intersection, difference and comparison of groups keep the order the standard gives them; ranks translate.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

static MPI_Group all;

/* Frees it; the empty group is predefined and stays. */
static void leave(MPI_Group group)
{
    if (group != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&group));
}

/* The ranks `list` of all, of which those beyond the size are left out. */
static MPI_Group some(int count, const int *list)
{
    int ranks[16], used = 0;
    MPI_Group group;
    for (int i = 0; i < count; i++)
        if (list[i] < check_size)
            ranks[used++] = list[i];
    OK(MPI_Group_incl(all, used, ranks, &group));
    return group;
}

/* The group has these ranks of all, in this order, again without those beyond the size. */
static void expect(MPI_Group group, int count, const int *list, int line)
{
    int size = -1, at = 0, mine = -2, my_place = MPI_UNDEFINED;
    OK(MPI_Group_size(group, &size));
    for (int i = 0; i < count; i++) {
        if (list[i] >= check_size)
            continue;
        int original = -1;
        if (at < size)
            OK(MPI_Group_translate_ranks(group, 1, &at, all, &original));
        if (original != list[i])
            CHECK_SAY("line %d: member %d is %d, not %d", line, at, original, list[i]);
        if (list[i] == check_rank)
            my_place = at;
        at++;
    }
    if (size != at)
        CHECK_SAY("line %d: %d members, not %d", line, size, at);
    OK(MPI_Group_rank(group, &mine));
    CHECK_EQ(mine, my_place);
    leave(group);
}

#define EXPECT(group, ...)                                                                     \
    do {                                                                                       \
        const int list[] = {__VA_ARGS__};                                                      \
        expect(group, sizeof list / sizeof list[0], list, __LINE__);                           \
    } while (0)

static int compared(MPI_Group one, MPI_Group other)
{
    int result = -1;
    OK(MPI_Group_compare(one, other, &result));
    return result;
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    const int x[] = {5, 1, 3, 0}, y[] = {2, 3, 1, 7}, x_sorted[] = {0, 1, 3, 5};
    MPI_Group a = some(4, x), b = some(4, y), c = some(4, x_sorted), result;

    OK(MPI_Group_union(a, b, &result));
    EXPECT(result, 5, 1, 3, 0, 2, 7);
    OK(MPI_Group_union(b, a, &result));
    EXPECT(result, 2, 3, 1, 7, 5, 0);
    OK(MPI_Group_intersection(a, b, &result));
    EXPECT(result, 1, 3);
    OK(MPI_Group_intersection(b, a, &result));
    EXPECT(result, 3, 1);
    OK(MPI_Group_difference(a, b, &result));
    EXPECT(result, 5, 0);
    OK(MPI_Group_difference(b, a, &result));
    EXPECT(result, 2, 7);
    OK(MPI_Group_union(a, MPI_GROUP_EMPTY, &result));
    EXPECT(result, 5, 1, 3, 0);
    OK(MPI_Group_difference(a, a, &result));
    CHECK(result == MPI_GROUP_EMPTY);
    OK(MPI_Group_intersection(a, MPI_GROUP_EMPTY, &result));
    CHECK(result == MPI_GROUP_EMPTY);

    CHECK_EQ(compared(a, a), MPI_IDENT);
    CHECK_EQ(compared(a, c), check_size > 1 ? MPI_SIMILAR : MPI_IDENT);
    CHECK_EQ(compared(a, all), check_size > 2 ? MPI_UNEQUAL : check_size > 1 ? MPI_SIMILAR : MPI_IDENT);
    CHECK_EQ(compared(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY), MPI_IDENT);
    CHECK_EQ(compared(a, MPI_GROUP_EMPTY), MPI_UNEQUAL);

    /* From one order to another; not a member; MPI_PROC_NULL. */
    int size;
    OK(MPI_Group_size(a, &size));
    for (int i = 0; i < size; i++) {
        int in[2] = {i, i}, out[2] = {-9, -9}, null = MPI_PROC_NULL, original;
        OK(MPI_Group_translate_ranks(a, 1, &i, all, &original));
        OK(MPI_Group_translate_ranks(a, 2, in, b, out));
        int expected = MPI_UNDEFINED, place = 0;
        for (int k = 0; k < 4; k++) {
            if (y[k] >= check_size)
                continue;
            if (y[k] == original)
                expected = place;
            place++;
        }
        CHECK_EQ(out[0], expected);
        CHECK_EQ(out[1], expected);
        OK(MPI_Group_translate_ranks(a, 1, &null, all, out));
        CHECK_EQ(out[0], MPI_PROC_NULL);
    }
    leave(a);
    leave(b);
    leave(c);
    OK(MPI_Group_free(&all));
    CHECK(all == MPI_GROUP_NULL);
    return check_end();
}
