/* Collectives and exchanges whose two buffers overlap: refused where both are used and something is moved, with nothing sent
 * or stored, so that the communicator works as before; taken where one of them is not looked at, where nothing is moved, and
 * where elements lie between each other.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: none, they find fewer of them */
#include "check.h"

enum { WORDS = 64, MOST = 8 };

static long words[WORDS];
static int counts[MOST], places[MOST], bytes[MOST];
static MPI_Datatype types[MOST];
static MPI_Comm comm;
static MPI_Request request = MPI_REQUEST_NULL;

static void reductions(void *in, void *out, int count, MPI_Datatype type)
{
    FAILS(MPI_Allreduce(in, out, count, type, MPI_SUM, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Allreduce_c(in, out, count, type, MPI_SUM, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Scan(in, out, count, type, MPI_SUM, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce_scatter_block(in, out, count, type, MPI_SUM, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce_scatter(in, out, counts, type, MPI_SUM, comm), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Iallreduce(in, out, count, type, MPI_SUM, comm, &request), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Iscan(in, out, count, type, MPI_SUM, comm, &request), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Ireduce_scatter_block(in, out, count, type, MPI_SUM, comm, &request), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Ireduce_scatter(in, out, counts, type, MPI_SUM, comm, &request), MPI_ERR_BUFFER);
    /* Rank 0 gets nothing, so it may. */
    if (check_rank > 0) {
        FAILS(MPI_Exscan(in, out, count, type, MPI_SUM, comm), MPI_ERR_BUFFER);
        STARTS_NOTHING(MPI_Iexscan(in, out, count, type, MPI_SUM, comm, &request), MPI_ERR_BUFFER);
    }
    /* Of the root alone: the others do not call it. */
    FAILS(MPI_Reduce(in, out, count, type, MPI_SUM, check_rank, comm), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Ireduce(in, out, count, type, MPI_SUM, check_rank, comm, &request), MPI_ERR_BUFFER);
}

static void moves(void *in, void *out)
{
    FAILS(MPI_Allgather(in, 1, MPI_LONG, out, 1, MPI_LONG, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Allgather_c(in, 1, MPI_LONG, out, 1, MPI_LONG, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Allgatherv(in, 1, MPI_LONG, out, counts, places, MPI_LONG, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoall(in, 1, MPI_LONG, out, 1, MPI_LONG, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoallv(in, counts, places, MPI_LONG, out, counts, places, MPI_LONG, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoallw(in, counts, bytes, types, out, counts, bytes, types, comm), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Iallgather(in, 1, MPI_LONG, out, 1, MPI_LONG, comm, &request), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Iallgatherv(in, 1, MPI_LONG, out, counts, places, MPI_LONG, comm, &request), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Ialltoall(in, 1, MPI_LONG, out, 1, MPI_LONG, comm, &request), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Ialltoallv(in, counts, places, MPI_LONG, out, counts, places, MPI_LONG, comm, &request), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Ialltoallw(in, counts, bytes, types, out, counts, bytes, types, comm, &request), MPI_ERR_BUFFER);
    FAILS(MPI_Gather(in, 1, MPI_LONG, out, 1, MPI_LONG, check_rank, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Gatherv(in, 1, MPI_LONG, out, counts, places, MPI_LONG, check_rank, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Scatter(out, 1, MPI_LONG, in, 1, MPI_LONG, check_rank, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Scatterv(out, counts, places, MPI_LONG, in, 1, MPI_LONG, check_rank, comm), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Igather(in, 1, MPI_LONG, out, 1, MPI_LONG, check_rank, comm, &request), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Igatherv(in, 1, MPI_LONG, out, counts, places, MPI_LONG, check_rank, comm, &request), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Iscatter(out, 1, MPI_LONG, in, 1, MPI_LONG, check_rank, comm, &request), MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Iscatterv(out, counts, places, MPI_LONG, in, 1, MPI_LONG, check_rank, comm, &request), MPI_ERR_BUFFER);
    FAILS(MPI_Sendrecv(in, 1, MPI_LONG, check_rank, 3, out, 1, MPI_LONG, check_rank, 3, comm, MPI_STATUS_IGNORE),
          MPI_ERR_BUFFER);
    STARTS_NOTHING(MPI_Isendrecv(in, 1, MPI_LONG, check_rank, 3, out, 1, MPI_LONG, check_rank, 3, comm, &request), MPI_ERR_BUFFER);
}

/* Legal, though the addresses are equal or the ranges overlap. */
static void taken(void)
{
    long *a = words, *b = words + WORDS / 2;
    MPI_Datatype second;
    OK(MPI_Allreduce(a, a, 0, MPI_LONG, MPI_SUM, comm));
    OK(MPI_Allgather(a, 0, MPI_LONG, a, 0, MPI_LONG, comm));
    OK(MPI_Sendrecv(a, 0, MPI_LONG, check_rank, 3, a, 0, MPI_LONG, check_rank, 3, comm, MPI_STATUS_IGNORE));
    OK(MPI_Sendrecv(a, 1, MPI_LONG, MPI_PROC_NULL, 3, a, 1, MPI_LONG, MPI_PROC_NULL, 3, comm, MPI_STATUS_IGNORE));
    /* Nor does it matter what rank 0 gives for what it gets from an exclusive scan, which is nothing. */
        long mine = check_rank + 1, before = 0, *results[] = {&mine, NULL, MPI_IN_PLACE};
    for (int i = 0; i < 3; i++) {
        long *result = check_rank == 0 ? results[i] : &before;
        OK(MPI_Exscan(&mine, result, 1, MPI_LONG, MPI_SUM, comm));
        CHECK_EQ(mine, check_rank + 1);
        CHECK_EQ(before, check_rank * (check_rank + 1) / 2);
        before = 0;
        OK(MPI_Iexscan(&mine, result, 1, MPI_LONG, MPI_SUM, comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_EQ(mine, check_rank + 1);
        CHECK_EQ(before, check_rank * (check_rank + 1) / 2);
    }
    /* What the other ranks give for the root's buffer does not matter. */
    OK(MPI_Reduce(a, check_rank == 0 ? b : a, 1, MPI_LONG, MPI_SUM, 0, comm));
    OK(MPI_Gather(a, 1, MPI_LONG, check_rank == 0 ? b : a, 1, MPI_LONG, 0, comm));
    OK(MPI_Scatter(check_rank == 0 ? b : a, 1, MPI_LONG, a, 1, MPI_LONG, 0, comm));
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_LONG, a, 1, MPI_LONG, comm));
    /* Side by side, and between each other. */
    OK(MPI_Allreduce(a, a + 2, 2, MPI_LONG, MPI_MAX, comm));
    OK(MPI_Type_vector(4, 1, 2, MPI_LONG, &second));
    OK(MPI_Type_commit(&second));
    for (int i = 0; i < 8; i++)
        a[i] = i;
    OK(MPI_Sendrecv(a, 1, second, check_rank, 3, a + 1, 1, second, check_rank, 3, comm, MPI_STATUS_IGNORE));
    for (int i = 0; i < 8; i++)
        CHECK_AT(a, i, i / 2 * 2);
    FAILS(MPI_Sendrecv(a, 1, second, check_rank, 3, a, 1, second, check_rank, 3, comm, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    OK(MPI_Type_free(&second));
}

int main(int argc, char **argv)
{
    long sum = -1, one = 1;
    int flag;
    check_begin(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int i = 0; i < MOST; i++)
        counts[i] = 1, places[i] = 2 * i, bytes[i] = 16 * i, types[i] = MPI_LONG;
    for (int i = 0; i < WORDS; i++)
        words[i] = 1000 + i;
    /* By packets, and by whatever many collectives make of it. */
    for (int round = 0; round < 5; round++) {
        reductions(words, words, 1, MPI_LONG);
        reductions(words, (char *)words + 4, 1, MPI_LONG);
        reductions((char *)words + 7, words, 1, MPI_LONG);
        moves(words, words);
        moves((char *)words + 4, words);
        for (int i = 0; i < WORDS; i++)
            CHECK_AT(words, i, 1000 + i);
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        OK(MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm));
        CHECK_EQ(sum, check_size);
    }
    /* One of many pieces. */
    FAILS(MPI_Allgather(words + check_size - 1, 1, MPI_LONG, words, 1, MPI_LONG, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Gatherv(words + 2 * (check_size - 1), 1, MPI_LONG, words, counts, places, MPI_LONG, check_rank, comm),
          MPI_ERR_BUFFER);
    taken();
    OK(MPI_Comm_free(&comm));
    return check_end();
}
