/* The marks of MPI-1: members of a structure that have no data and bound it, and all types made from it.
 *
 * ranks: 1
 * peers: none, newer libraries do not have them */
#define RMA_MPI_1
#include "check.h"
#include <string.h>

static MPI_Datatype structure(int count, MPI_Aint places[], MPI_Datatype types[])
{
    int lengths[] = {1, 1, 1, 1};
    MPI_Datatype made;
    OK(MPI_Type_struct(count, lengths, places, types, &made));
    OK(MPI_Type_commit(&made));
    return made;
}

static void check_bounds(MPI_Datatype type, MPI_Aint low, MPI_Aint high, int bytes)
{
    MPI_Aint lb, ub, extent;
    int size;
    OK(MPI_Type_lb(type, &lb));
    OK(MPI_Type_ub(type, &ub));
    OK(MPI_Type_extent(type, &extent));
    OK(MPI_Type_size(type, &size));
    CHECK_EQ(lb, low);
    CHECK_EQ(ub, high);
    CHECK_EQ(extent, high - low);
    CHECK_EQ(size, bytes);
}

static void check_mark(MPI_Datatype mark, const char *expected)
{
    char name[MPI_MAX_OBJECT_NAME];
    int n, integers, addresses, types, combiner;
    check_bounds(mark, 0, 0, 0);
    OK(MPI_Type_get_name(mark, name, &n));
    CHECK(strcmp(name, expected) == 0);
    OK(MPI_Type_get_envelope(mark, &integers, &addresses, &types, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_NAMED);
}

int main(int argc, char **argv)
{
    int words[24], out[24], lengths[] = {1, 0, 1}, integers[4], count, elements, ints;
    MPI_Aint places[4], got[3], packed = 0;
    MPI_Datatype types[4], one, two, three, pair, low, empty;
    MPI_Status status;
    char external[64];
    check_begin(&argc, &argv);
    check_mark(MPI_LB, "MPI_LB");
    check_mark(MPI_UB, "MPI_UB");
    for (int i = 0; i < 24; i++)
        words[i] = i;

    /* Both bounds, in any order of the members. */
    one = structure(3, (MPI_Aint[]){-8, 0, 24}, (MPI_Datatype[]){MPI_LB, MPI_INT, MPI_UB});
    check_bounds(one, -8, 24, 4);
    two = structure(3, (MPI_Aint[]){24, -8, 0}, (MPI_Datatype[]){MPI_UB, MPI_LB, MPI_INT});
    check_bounds(two, -8, 24, 4);
    OK(MPI_Sendrecv(words, 3, one, 0, 0, out, 3, MPI_INT, 0, 0, MPI_COMM_SELF, &status));
    CHECK(out[0] == 0 && out[1] == 8 && out[2] == 16);
    OK(MPI_Sendrecv(out, 3, MPI_INT, 0, 0, words, 3, two, 0, 0, MPI_COMM_SELF, &status));
    OK(MPI_Get_count(&status, two, &count));
    OK(MPI_Get_elements(&status, two, &elements));
    CHECK(count == 3 && elements == 3);
    OK(MPI_Status_set_elements(&status, two, 2));
    OK(MPI_Get_count(&status, MPI_INT, &ints));
    CHECK_EQ(ints, 2);
    OK(MPI_Pack_external("external32", words, 2, one, external, sizeof external, &packed));
    CHECK(packed == 8 && external[3] == 0 && external[7] == 8);

    /* Bounds go on to what is made of the type: the lowest and the highest mark count, wherever the data lie. */
    OK(MPI_Type_contiguous(2, one, &pair));
    check_bounds(pair, -8, 56, 8);
    three = structure(3, (MPI_Aint[]){0, 4, 100}, (MPI_Datatype[]){one, MPI_UB, MPI_INT});
    check_bounds(three, -8, 24, 8);

    /* One mark: the other bound is that of the data, and the extent is aligned. */
    low = structure(2, (MPI_Aint[]){-3, 0}, (MPI_Datatype[]){MPI_LB, MPI_SHORT});
    check_bounds(low, -3, 3, 2);

    /* A member of no elements is none, whatever its type is. */
    memcpy(places, (MPI_Aint[]){4, 40, 0}, 3 * sizeof *places);
    memcpy(types, (MPI_Datatype[]){MPI_INT, MPI_UB, MPI_LB}, 3 * sizeof *types);
    OK(MPI_Type_struct(3, lengths, places, types, &empty));
    check_bounds(empty, 0, 8, 4);
    OK(MPI_Type_get_contents(empty, 4, 3, 3, integers, got, types));
    CHECK(types[0] == MPI_INT && types[1] == MPI_UB && types[2] == MPI_LB);
    CHECK(integers[0] == 3 && integers[2] == 0 && got[0] == 4 && got[1] == 40 && got[2] == 0);

    MPI_Datatype *made[] = {&one, &two, &three, &pair, &low, &empty};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        OK(MPI_Type_free(made[i]));
    return check_end();
}
