/* Parts of both groups of an intercommunicator become intercommunicators of their own: by colors, ordered by keys, and by a
 * group that each side names. A rank without a partner on the other side gets none.
 *
 * ranks: 2 4 5 8
 * peers: not openmpi, whose ranks wait for the one with a wrong argument
 * peers: not mpich, likewise
 * peers: not mpich-abi, likewise */
#include "check.h"

/* Every rank of both groups hears of every rank of the other one, by messages and by a collective. */
static void exchange(MPI_Comm inter, int size, int rank, int others, const int *theirs)
{
    int found = -1, flag = 0, all[8], in = -1;
    OK(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag);
    OK(MPI_Comm_size(inter, &found));
    CHECK_EQ(found, size);
    OK(MPI_Comm_rank(inter, &found));
    CHECK_EQ(found, rank);
    OK(MPI_Comm_remote_size(inter, &found));
    CHECK_EQ(found, others);
    OK(MPI_Allgather(&check_rank, 1, MPI_INT, all, 1, MPI_INT, inter));
    for (int i = 0; i < others; i++)
        CHECK_AT(all, i, theirs[i]);
    MPI_Request sent[8];
    for (int i = 0; i < others; i++)
        OK(MPI_Isend(&check_rank, 1, MPI_INT, i, 3, inter, &sent[i]));
    for (int i = others; i-- > 0;) {
        OK(MPI_Recv(&in, 1, MPI_INT, i, 3, inter, MPI_STATUS_IGNORE));
        CHECK_EQ(in, theirs[i]);
    }
    OK(MPI_Waitall(others, sent, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
    MPI_Comm half, inter, part, again;
    MPI_Group group, named;
    int theirs[8], relation = 0;
    check_begin(&argc, &argv);
    int odd = check_rank % 2, others = (check_size + (odd ? 1 : 0)) / 2, mine = check_size - others, rank = check_rank / 2;
    OK(MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 5, &inter));

    /* All with one color, backwards on the odd side. */
    OK(MPI_Comm_split(inter, 4, odd ? -rank : 0, &part));
    for (int i = 0; i < others; i++)
        theirs[i] = odd ? 2 * i : 2 * (others - 1 - i) + 1;
    exchange(part, mine, odd ? mine - 1 - rank : rank, others, theirs);

    /* What came out of a split can be split, copied and merged like any other. */
    OK(MPI_Comm_dup(part, &again));
    OK(MPI_Comm_compare(part, again, &relation));
    CHECK_EQ(relation, MPI_CONGRUENT);
    exchange(again, mine, odd ? mine - 1 - rank : rank, others, theirs);
    OK(MPI_Comm_free(&again));
    OK(MPI_Intercomm_merge(part, odd, &again));
    OK(MPI_Comm_size(again, &relation));
    CHECK_EQ(relation, check_size);
    OK(MPI_Comm_free(&again));
    OK(MPI_Comm_split(part, rank == 0 ? 1 : MPI_UNDEFINED, 0, &again));
    CHECK((again == MPI_COMM_NULL) == (rank != 0));
    if (rank == 0) {
        theirs[0] = !odd;
        exchange(again, 1, 0, 1, theirs);
        OK(MPI_Comm_free(&again));
    }
    OK(MPI_Comm_free(&part));

    /* Each pair of equal ranks; one without a partner is alone with its color. */
    OK(MPI_Comm_split(inter, rank, 0, &part));
    CHECK((part == MPI_COMM_NULL) == (rank >= others));
    if (part != MPI_COMM_NULL) {
        theirs[0] = 2 * rank + !odd;
        exchange(part, 1, 0, 1, theirs);
        OK(MPI_Comm_free(&part));
    }
    /* Colors that only one side gives. */
    OK(MPI_Comm_split(inter, odd, 0, &part));
    CHECK(part == MPI_COMM_NULL);

    /* The ranks of each node, whatever nodes there are. */
    MPI_Comm node;
    MPI_Group here, world;
    int count_here = 0, own_here = 0, others_here = 0, places[8], found[8];
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_group(node, &here));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_size(here, &count_here));
    for (int i = 0; i < count_here; i++)
        places[i] = i;
    OK(MPI_Group_translate_ranks(here, count_here, places, world, found));
    int rank_here = 0;
    for (int i = 0; i < count_here; i++) {
        if (found[i] % 2 == odd)
            rank_here += found[i] < check_rank, own_here++;
        else
            theirs[others_here++] = found[i];
    }
    OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
    CHECK((part == MPI_COMM_NULL) == (others_here == 0));
    if (part != MPI_COMM_NULL) {
        exchange(part, own_here, rank_here, others_here, theirs);
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Comm_split_type(inter, rank == 0 ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0, MPI_INFO_NULL, &part));
    CHECK(rank == 0 || part == MPI_COMM_NULL);
    if (part != MPI_COMM_NULL)
        OK(MPI_Comm_free(&part));
    OK(MPI_Group_free(&here));
    OK(MPI_Group_free(&world));
    OK(MPI_Comm_free(&node));

    /* A group on each side: the last two ranks, the last one first. */
    int last[2] = {mine - 1, mine - 2}, count = mine < 2 ? 1 : 2, chosen = others < 2 ? 1 : 2;
    OK(MPI_Comm_group(inter, &group));
    OK(MPI_Group_incl(group, count, last, &named));
    OK(MPI_Comm_create(inter, named, &part));
    CHECK((part == MPI_COMM_NULL) == (mine - 1 - rank >= count));
    if (part != MPI_COMM_NULL) {
        for (int i = 0; i < chosen; i++)
            theirs[i] = 2 * (others - 1 - i) + !odd;
        exchange(part, count, mine - 1 - rank, chosen, theirs);
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Comm_create(inter, odd ? MPI_GROUP_EMPTY : group, &part));
    CHECK(part == MPI_COMM_NULL);
    OK(MPI_Group_free(&named));

    /* One rank's wrong argument is an error on all ranks of both groups, and none waits. */
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    FAILS(MPI_Comm_split(inter, check_rank == 1 ? -5 : 0, 0, &part), check_rank == 1 ? MPI_ERR_ARG : MPI_ERR_OTHER);
    FAILS(MPI_Comm_split_type(inter, check_rank == 1 ? 12345 : MPI_UNDEFINED, 0, MPI_INFO_NULL, &part),
          check_rank == 1 ? MPI_ERR_ARG : MPI_ERR_OTHER);
    MPI_Group all;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    FAILS(MPI_Comm_create(inter, odd ? group : all, &part), odd ? MPI_ERR_OTHER : MPI_ERR_GROUP);
    OK(MPI_Barrier(inter));
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
    return check_end();
}
