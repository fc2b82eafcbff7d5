/* Splitting: by colour and key, ties in the old order, no colour, again within the parts, and by shared memory.
 *
 * ranks: 1 2 3 4 8
 * memcheck: yes */
#include "check.h"

static int sum(MPI_Comm comm, int value)
{
    int result = -1;
    OK(MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_SUM, comm));
    return result;
}

int main(int argc, char **argv)
{
    MPI_Comm comm, half, node;
    int rank, size;
    check_begin(&argc, &argv);

    /* Odd and even, each in falling order. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 1000 - check_rank, &comm));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    int members = (check_size + 1 - check_rank % 2) / 2;
    CHECK_EQ(size, members);
    CHECK_EQ(rank, members - 1 - check_rank / 2);
    int expected = 0;
    for (int i = check_rank % 2; i < check_size; i += 2)
        expected += i;
    CHECK_EQ(sum(comm, check_rank), expected);

    /* Within a part, in two. */
    OK(MPI_Comm_split(comm, rank < size / 2, 0, &half));
    int half_rank, half_size;
    OK(MPI_Comm_rank(half, &half_rank));
    OK(MPI_Comm_size(half, &half_size));
    CHECK_EQ(half_size, rank < size / 2 ? size / 2 : size - size / 2);
    CHECK_EQ(half_rank, rank < size / 2 ? rank : rank - size / 2);
    CHECK_EQ(sum(half, 1), half_size);
    OK(MPI_Comm_free(&half));
    OK(MPI_Comm_free(&comm));

    /* Equal keys keep the order; a rank without a colour gets no communicator. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank == 0 ? MPI_UNDEFINED : 7, 3, &comm));
    if (check_rank == 0) {
        CHECK(comm == MPI_COMM_NULL);
    } else {
        OK(MPI_Comm_rank(comm, &rank));
        CHECK_EQ(rank, check_rank - 1);
        CHECK_EQ(sum(comm, 1), check_size - 1);
        OK(MPI_Comm_free(&comm));
    }

    /* Those that can share memory. */
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &size));
    CHECK(size >= 1 && size <= check_size);
    CHECK_EQ(sum(node, 1), size);
    OK(MPI_Comm_free(&node));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &node));
    CHECK(node == MPI_COMM_NULL);
    return check_end();
}
