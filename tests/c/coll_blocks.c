/* Contents of collectives whose blocks are short, long, and on both sides of each length by which the library chooses a way:
 * collective slots, packets along trees, straight from memory to memory; with datatypes without gaps and with gaps, in place and
 * not.
 *
 * ranks: 1 2 4 5 */
#include "check.h"

/* Lengths of blocks in ints. */
static const int lengths[] = {1, 63, 64, 65, 255, 300, 511, 512, 513, 1023, 1025, 2047, 2048, 2049, 5000, 66000, 300001};

enum { GUARD = 3, MARK = -77 };

static int *send, *recv, size, rank;
static MPI_Datatype spread;

/* What `from` has for `to` at place i. */
static int word(int from, int to, int i)
{
    return from * 1000003 + to * 10007 + i * 31 + 5;
}

static void fill(int *block, int len, int gap, int from, int to)
{
    for (int i = 0; i < len; i++)
        block[i * gap] = word(from, to, i);
}

static void clear(int *memory, size_t len)
{
    for (size_t i = 0; i < len + GUARD; i++)
        memory[i] = MARK;
}

static void expect(const char *what, const int *block, int len, int gap, int from, int to)
{
    for (int i = 0; i < len; i++) {
        if (block[i * gap] != word(from, to, i)) {
            CHECK_SAY("%s of %d: word %d from %d is %d, not %d", what, len, i, from, block[i * gap], word(from, to, i));
            return;
        }
        for (int k = 1; k < gap; k++)
            if (block[i * gap + k] != MARK) {
                CHECK_SAY("%s of %d: the gap behind word %d is written", what, len, i);
                return;
            }
    }
}

static void guarded(const char *what, const int *memory, size_t len)
{
    for (int i = 0; i < GUARD; i++)
        if (memory[len + (size_t)i] != MARK)
            CHECK_SAY("%s wrote behind its buffer", what);
}

/* All of them with blocks of `len` ints, of which each is followed by `gap` - 1 that are none of it. */
static void blocks(int len, MPI_Datatype type, int gap)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int root = size - 1;
    size_t block = (size_t)len * (size_t)gap, all = block * (size_t)size;
    int *own = recv + block * (size_t)rank;

    clear(recv, all);
    if (rank == root)
        fill(recv, len, gap, root, 0);
    OK(MPI_Bcast(recv, len, type, root, comm));
    expect("bcast", recv, len, gap, root, 0);
    guarded("bcast", recv, block);

    clear(send, all);
    for (int to = 0; to < size; to++)
        fill(send + block * (size_t)to, len, gap, rank, to);
    clear(recv, all);
    OK(MPI_Alltoall(send, len, type, recv, len, type, comm));
    for (int from = 0; from < size; from++)
        expect("alltoall", recv + block * (size_t)from, len, gap, from, rank);
    guarded("alltoall", recv, all);
    OK(MPI_Alltoall(MPI_IN_PLACE, 0, type, send, len, type, comm));
    for (int from = 0; from < size; from++)
        expect("alltoall in place", send + block * (size_t)from, len, gap, from, rank);

    MPI_Request request;
    for (int to = 0; to < size; to++)
        fill(send + block * (size_t)to, len, gap, rank, to);
    clear(recv, all);
    OK(MPI_Ialltoall(send, len, type, recv, len, type, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int from = 0; from < size; from++)
        expect("ialltoall", recv + block * (size_t)from, len, gap, from, rank);

    clear(recv, all);
    OK(MPI_Scatter(send, len, type, recv, len, type, root, comm));
    expect("scatter", recv, len, gap, root, rank);
    guarded("scatter", recv, block);
    clear(recv, all);
    OK(MPI_Scatter(send, len, type, rank == root ? MPI_IN_PLACE : recv, len, type, root, comm));
    if (rank != root)
        expect("scatter in place", recv, len, gap, root, rank);

    clear(recv, all);
    OK(MPI_Gather(send, len, type, recv, len, type, root, comm));
    for (int from = 0; rank == root && from < size; from++)
        expect("gather", recv + block * (size_t)from, len, gap, from, 0);
    guarded("gather", recv, rank == root ? all : 0);
    clear(recv, all);
    fill(own, len, gap, rank, 0);
    OK(MPI_Gather(rank == root ? MPI_IN_PLACE : send, len, type, recv, len, type, root, comm));
    for (int from = 0; rank == root && from < size; from++)
        expect("gather in place", recv + block * (size_t)from, len, gap, from, 0);

    clear(recv, all);
    OK(MPI_Allgather(send, len, type, recv, len, type, comm));
    for (int from = 0; from < size; from++)
        expect("allgather", recv + block * (size_t)from, len, gap, from, 0);
    guarded("allgather", recv, all);
    clear(recv, all);
    fill(own, len, gap, rank, 0);
    OK(MPI_Allgather(MPI_IN_PLACE, 0, type, recv, len, type, comm));
    for (int from = 0; from < size; from++)
        expect("allgather in place", recv + block * (size_t)from, len, gap, from, 0);
}

/* Blocks of different lengths: short ones and long ones in one call. */
static void varying(int len)
{
    int counts[64], displs[64], back[64], place[64], at = 0, in = 0;
    for (int peer = 0; peer < size; peer++) {
        counts[peer] = (rank + peer) % 3 == 0 ? 7 : len - peer - rank;
        back[peer] = counts[peer];
        displs[peer] = at, place[peer] = in;
        at += counts[peer], in += back[peer];
    }
    for (int to = 0; to < size; to++)
        fill(send + displs[to], counts[to], 1, rank, to);
    clear(recv, (size_t)in);
    OK(MPI_Alltoallv(send, counts, displs, MPI_INT, recv, back, place, MPI_INT, MPI_COMM_WORLD));
    for (int from = 0; from < size; from++)
        expect("alltoallv", recv + place[from], back[from], 1, from, rank);
    guarded("alltoallv", recv, (size_t)in);

    at = 0;
    for (int peer = 0; peer < size; peer++) {
        counts[peer] = peer % 2 ? 9 : len - peer;
        displs[peer] = at;
        at += counts[peer];
    }
    fill(send, counts[rank], 1, rank, 0);
    clear(recv, (size_t)at);
    OK(MPI_Gatherv(send, counts[rank], MPI_INT, recv, counts, displs, MPI_INT, 0, MPI_COMM_WORLD));
    for (int from = 0; rank == 0 && from < size; from++)
        expect("gatherv", recv + displs[from], counts[from], 1, from, 0);
    clear(recv, (size_t)at);
    OK(MPI_Allgatherv(send, counts[rank], MPI_INT, recv, counts, displs, MPI_INT, MPI_COMM_WORLD));
    for (int from = 0; from < size; from++)
        expect("allgatherv", recv + displs[from], counts[from], 1, from, 0);
    guarded("allgatherv", recv, (size_t)at);
    for (int to = 0; to < size; to++)
        fill(send + displs[to], counts[to], 1, rank, to);
    clear(recv, (size_t)at);
    OK(MPI_Scatterv(send, counts, displs, MPI_INT, recv, counts[rank], MPI_INT, 0, MPI_COMM_WORLD));
    expect("scatterv", recv, counts[rank], 1, 0, rank);
    guarded("scatterv", recv, (size_t)counts[rank]);
}

static void reductions(int len)
{
    fill(send, len, 1, rank, 0);
    clear(recv, (size_t)len);
    OK(MPI_Allreduce(send, recv, len, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < len && (pass == 0 || rank == size - 1); i++) {
            unsigned sum = 0;
            for (int from = 0; from < size; from++)
                sum += (unsigned)word(from, 0, i);
            if (recv[i] != (int)sum) {
                CHECK_SAY("%s of %d: word %d is %d, not %d", pass ? "reduce" : "allreduce", len, i, recv[i], (int)sum);
                break;
            }
        }
        guarded("a reduction", recv, (size_t)len);
        clear(recv, (size_t)len);
        OK(MPI_Reduce(send, recv, len, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD));
    }
    for (int i = 0; i < len; i++)
        if (send[i] != word(rank, 0, i)) {
            CHECK_SAY("a reduction of %d changed what was given", len);
            break;
        }
}

int main(int argc, char **argv)
{
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    check_begin(&argc, &argv);
    rank = check_rank, size = check_size;
    size_t most = (size_t)lengths[LENGTHS - 1] * (size_t)size + GUARD;
    send = malloc(most * sizeof(int)), recv = malloc(most * sizeof(int));
    OK(MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &spread));
    OK(MPI_Type_commit(&spread));
    for (int i = 0; i < LENGTHS; i++) {
        DOING("blocks");
        blocks(lengths[i], MPI_INT, 1);
        if (lengths[i] <= 66000)
            blocks(lengths[i], spread, 3);
        if (lengths[i] > 100)
            varying(lengths[i]);
        reductions(lengths[i]);
    }
    OK(MPI_Type_free(&spread));
    free(send), free(recv);
    return check_end();
}
