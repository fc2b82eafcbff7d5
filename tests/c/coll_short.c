/* Collectives of short data, of lengths around every limit, in a row and without anything between: contents, mixed with
 * nonblocking collectives and messages, on communicators that come and go. Ranks run ahead of one another.
 *
 * ranks: 1 2 3 4 5 8
 * memcheck: yes */
#include "check.h"

enum { MOST = 600, ROUNDS = 4 };

static const int lengths[] = {0, 1, 7, 8, 61, 62, 63, 64, 123, 124, 125, 126, 127, 128, 129, 247, 248, 249, 600};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static unsigned char given[16 * MOST], taken[16 * MOST];
static int numbers[MOST], sums[MOST], before[MOST];

static unsigned char byte_of(int rank, int place, int round)
{
    return (unsigned char)(31 * rank + 7 * place + 13 * round + 1);
}

static void fill(int rank, int len, int round)
{
    for (int i = 0; i < len; i++)
        given[i] = byte_of(rank, i, round);
    memset(taken, 0xee, sizeof taken);
}

/* Composes x -> a x + b, the lower ranks' first: associative, and not commutative. */
static void compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *lower = in, *upper = inout;
    (void)type;
    for (int i = 0; i < 2 * *len; i += 2) {
        upper[i + 1] += upper[i] * lower[i + 1];
        upper[i] *= lower[i];
    }
}

static void data(MPI_Comm comm, int rank, int size, int len, int round)
{
    int root = round % size;
    int counts[16], places[16];

    fill(rank, len, round);
    if (rank == root)
        memcpy(taken, given, (size_t)len);
    OK(MPI_Bcast(taken, len, MPI_BYTE, root, comm));
    for (int i = 0; i < len; i++)
        CHECK_AT(taken, i, byte_of(root, i, round));

    fill(rank, len, round);
    OK(MPI_Allgather(given, len, MPI_BYTE, taken, len, MPI_BYTE, comm));
    for (int r = 0; r < size; r++)
        for (int i = 0; i < len; i++)
            CHECK_AT(taken, r * len + i, byte_of(r, i, round));

    fill(rank, len, round);
    memcpy(taken + rank * len, given, (size_t)len);
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, taken, len, MPI_BYTE, comm));
    for (int r = 0; r < size; r++)
        CHECK_AT(taken, r * len, len ? byte_of(r, 0, round) : taken[r * len]);

    fill(rank, len, round);
    OK(MPI_Gather(given, len, MPI_BYTE, taken, len, MPI_BYTE, root, comm));
    for (int r = 0; rank == root && r < size; r++)
        for (int i = 0; i < len; i++)
            CHECK_AT(taken, r * len + i, byte_of(r, i, round));

    /* Some ranks give more than others, and some of them more than is short. */
    for (int r = 0; r < size; r++) {
        counts[r] = r % 2 ? len : len / 2;
        places[r] = r * MOST;
    }
    fill(rank, len, round);
    OK(MPI_Gatherv(given, counts[rank], MPI_BYTE, taken, counts, places, MPI_BYTE, root, comm));
    for (int r = 0; rank == root && r < size; r++)
        for (int i = 0; i < counts[r]; i++)
            CHECK_AT(taken, r * MOST + i, byte_of(r, i, round));

    fill(rank, len * size, round);
    OK(MPI_Scatter(given, len, MPI_BYTE, taken, len, MPI_BYTE, root, comm));
    for (int i = 0; i < len; i++)
        CHECK_AT(taken, i, byte_of(root, rank * len + i, round));

    fill(rank, len * size, round);
    OK(MPI_Alltoall(given, len, MPI_BYTE, taken, len, MPI_BYTE, comm));
    for (int r = 0; r < size; r++)
        for (int i = 0; i < len; i++)
            CHECK_AT(taken, r * len + i, byte_of(r, rank * len + i, round));
}

static void reductions(MPI_Comm comm, int rank, int size, int len, int round, MPI_Op in_order)
{
    int root = round % size, composed = 0, composed_here = 0;
    for (int r = 0; r < size; r++) {
        composed = 2 * composed + r + round;
        if (r == rank)
            composed_here = composed;
    }
    for (int i = 0; i + 1 < len; i += 2) {
        numbers[i] = 2;
        numbers[i + 1] = rank + round;
    }
    OK(MPI_Allreduce(numbers, sums, len / 2, MPI_2INT, in_order, comm));
    for (int i = 0; i + 1 < len; i += 2) {
        CHECK_AT(sums, i, 1 << size);
        CHECK_AT(sums, i + 1, composed);
    }
    OK(MPI_Reduce(numbers, sums, len / 2, MPI_2INT, in_order, root, comm));
    for (int i = 0; rank == root && i + 1 < len; i += 2)
        CHECK_AT(sums, i + 1, composed);
    OK(MPI_Scan(numbers, sums, len / 2, MPI_2INT, in_order, comm));
    for (int i = 0; i + 1 < len; i += 2)
        CHECK_AT(sums, i + 1, composed_here);

    for (int i = 0; i < len; i++)
        numbers[i] = rank + i + round;
    OK(MPI_Allreduce(numbers, sums, len, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < len; i++)
        CHECK_AT(sums, i, size * (i + round) + size * (size - 1) / 2);
    memcpy(sums, numbers, sizeof numbers);
    OK(MPI_Allreduce(MPI_IN_PLACE, sums, len, MPI_INT, MPI_MAX, comm));
    for (int i = 0; i < len; i++)
        CHECK_AT(sums, i, size - 1 + i + round);

    memset(sums, 0, sizeof sums);
    OK(MPI_Reduce(numbers, sums, len, MPI_INT, MPI_SUM, root, comm));
    for (int i = 0; i < len; i++)
        CHECK_AT(sums, i, rank == root ? size * (i + round) + size * (size - 1) / 2 : 0);

    OK(MPI_Scan(numbers, sums, len, MPI_INT, MPI_SUM, comm));
    memset(before, 0, sizeof before);
    OK(MPI_Exscan(numbers, before, len, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < len; i++) {
        CHECK_AT(sums, i, (rank + 1) * (i + round) + rank * (rank + 1) / 2);
        CHECK_AT(before, i, rank * (i + round) + rank * (rank - 1) / 2);
    }
}

/* Nonblocking collectives and messages of the same communicator are under way meanwhile. */
static void mixed(MPI_Comm comm, int rank, int size, int round)
{
    MPI_Request requests[4];
    int one = rank + round, sum = -1, from_left = -1, all[16], blocking = -1;
    OK(MPI_Irecv(&from_left, 1, MPI_INT, (rank + size - 1) % size, round, comm, &requests[0]));
    OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]));
    OK(MPI_Barrier(comm));
    OK(MPI_Iallgather(&one, 1, MPI_INT, all, 1, MPI_INT, comm, &requests[2]));
    OK(MPI_Isend(&one, 1, MPI_INT, (rank + 1) % size, round, comm, &requests[3]));
    OK(MPI_Allreduce(&one, &blocking, 1, MPI_INT, MPI_MAX, comm));
    OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(from_left, (rank + size - 1) % size + round);
    CHECK_EQ(sum, size * round + size * (size - 1) / 2);
    CHECK_EQ(blocking, size - 1 + round);
    for (int r = 0; r < size; r++)
        CHECK_AT(all, r, r + round);
}

int main(int argc, char **argv)
{
    MPI_Op in_order;
    check_begin(&argc, &argv);
    OK(MPI_Op_create(compose, 0, &in_order));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comms[3];
        comms[0] = MPI_COMM_WORLD;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
        OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &comms[2]));
        for (int at = 0; at < LENGTHS; at++)
            for (int c = 0; c < 3; c++) {
                int rank, size;
                OK(MPI_Comm_rank(comms[c], &rank));
                OK(MPI_Comm_size(comms[c], &size));
                data(comms[c], rank, size, lengths[at], round);
                reductions(comms[c], rank, size, lengths[at], round, in_order);
                mixed(comms[c], rank, size, round);
            }
        if (check_rank == round % check_size)
            usleep(3000);
        /* A rank that is ahead frees what others still read. */
        for (int i = 0; i < 5; i++) {
            int word = round + i, root = i % check_size;
            OK(MPI_Bcast(&word, 1, MPI_INT, root, comms[1]));
            CHECK_EQ(word, round + i);
        }
        OK(MPI_Comm_free(&comms[1]));
        OK(MPI_Comm_free(&comms[2]));
    }
    OK(MPI_Op_free(&in_order));
    return check_end();
}
