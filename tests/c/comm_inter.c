/* Two groups, the even and the odd ranks, meet in an intercommunicator: messages go to the ranks of the other group,
 * collectives give what the other group has, and the two become one.
 *
 * ranks: 2 3 5 */
#include "check.h"

int main(int argc, char **argv)
{
    int flag = 0, size = 0, remote = 0, relation = 0, rank = 0;
    MPI_Comm half, inter, copied, merged;
    MPI_Group other;
    MPI_Status status;
    check_begin(&argc, &argv);
    int odd = check_rank % 2, others = (check_size + (odd ? 1 : 0)) / 2, mine = check_size - others;
    OK(MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 5, &inter));
    OK(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag);
    OK(MPI_Comm_size(inter, &size));
    OK(MPI_Comm_rank(inter, &rank));
    OK(MPI_Comm_remote_size(inter, &remote));
    CHECK_EQ(size, mine);
    CHECK_EQ(rank, check_rank / 2);
    CHECK_EQ(remote, others);
    OK(MPI_Comm_remote_group(inter, &other));
    OK(MPI_Group_size(other, &size));
    CHECK_EQ(size, others);
    OK(MPI_Group_rank(other, &size));
    CHECK_EQ(size, MPI_UNDEFINED);
    OK(MPI_Group_free(&other));

    /* Each rank sends to rank 0 of the other group, and to the rank with the own number if there is one. */
    int out = 100 + check_rank, in = -1;
    MPI_Request sent;
    OK(MPI_Isend(&out, 1, MPI_INT, 0, 7, inter, &sent));
    if (rank == 0) {
        int seen = 0;
        for (int i = 0; i < others; i++) {
            OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 7, inter, &status));
            CHECK_EQ(in, 100 + 2 * status.MPI_SOURCE + !odd);
            seen += status.MPI_SOURCE;
        }
        CHECK_EQ(seen, others * (others - 1) / 2);
    }
    OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));

    int sum = 0, expected = 0, all[8], blocks[8];
    for (int i = !odd; i < check_size; i += 2)
        expected += i;
    OK(MPI_Barrier(inter));
    OK(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK_EQ(sum, expected);
    OK(MPI_Allgather(&check_rank, 1, MPI_INT, all, 1, MPI_INT, inter));
    for (int i = 0; i < others; i++)
        CHECK_AT(all, i, 2 * i + !odd);
    for (int i = 0; i < others; i++)
        blocks[i] = 10 * check_rank + i;
    OK(MPI_Alltoall(blocks, 1, MPI_INT, all, 1, MPI_INT, inter));
    for (int i = 0; i < others; i++)
        CHECK_AT(all, i, 10 * (2 * i + !odd) + rank);

    /* Rank 0 of the even group is the root. */
    int root = odd ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, word = check_rank == 0 ? 42 : -1;
    OK(MPI_Bcast(&word, 1, MPI_INT, root, inter));
    CHECK_EQ(word, odd || check_rank == 0 ? 42 : -1);
    memset(all, -1, sizeof all);
    OK(MPI_Gather(&check_rank, 1, MPI_INT, all, 1, MPI_INT, root, inter));
    for (int i = 0; check_rank == 0 && i < others; i++)
        CHECK_AT(all, i, 2 * i + 1);
    for (int i = 0; i < others; i++)
        blocks[i] = 30 + i;
    word = -1;
    MPI_Request request;
    OK(MPI_Iscatter(blocks, 1, MPI_INT, &word, 1, MPI_INT, root, inter, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(word, odd ? 30 + rank : -1);
    sum = -1;
    /* What a rank gives that neither gives nor takes does not matter. */
    int is_idle = root == MPI_PROC_NULL;
    OK(MPI_Reduce(&check_rank, &sum, 1, is_idle ? MPI_DOUBLE : MPI_INT, is_idle ? MPI_BAND : MPI_SUM, root, inter));
    CHECK_EQ(sum, check_rank == 0 ? expected : -1);
    /* Ranks that neither give nor take are asked for nothing: their arguments may be anything. */
    int given = check_rank == 0 ? 77 : -1;
    int is_asked = root != MPI_PROC_NULL;
    OK(MPI_Bcast(is_asked ? &given : NULL, is_asked ? 1 : -3, is_asked ? MPI_INT : MPI_DATATYPE_NULL, root, inter));
    CHECK_EQ(given, odd || check_rank == 0 ? 77 : -1);

    OK(MPI_Comm_dup(inter, &copied));
    OK(MPI_Comm_compare(inter, copied, &relation));
    CHECK_EQ(relation, MPI_CONGRUENT);
    OK(MPI_Comm_compare(inter, half, &relation));
    CHECK_EQ(relation, MPI_UNEQUAL);
    OK(MPI_Comm_free(&half));
    OK(MPI_Intercomm_merge(copied, odd, &merged));
    OK(MPI_Comm_rank(merged, &rank));
    CHECK_EQ(rank, odd ? others + check_rank / 2 : check_rank / 2);
    OK(MPI_Comm_size(merged, &size));
    CHECK_EQ(size, check_size);
    OK(MPI_Comm_test_inter(merged, &flag));
    CHECK(!flag);

    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN));
    FAILS(MPI_Send(&out, 1, MPI_INT, others, 0, inter), MPI_ERR_RANK);
    FAILS(MPI_Scan(&out, &in, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    FAILS(MPI_Comm_remote_size(merged, &size), MPI_ERR_COMM);
    FAILS(MPI_Bcast(&out, 1, MPI_INT, others, inter), MPI_ERR_ROOT);
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_free(&copied));
    OK(MPI_Comm_free(&inter));
    return check_end();
}
