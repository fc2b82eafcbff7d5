/* A block to each neighbor in a ring and one from each: by a neighborhood collective, and the same blocks by messages. In a ring of two
 * both neighbors are the other rank. */

#include "bench.h"

#define EDGES 2
#define DOWN 0 /* to the rank before */
#define UP 1

struct ring {
    MPI_Comm comm;
    int before, behind;
    size_t bytes;
    uint64_t *out, *in; /* a block for each edge, the rank before first */
    uint64_t turn;
};

static uint64_t *block(uint64_t *blocks, const struct ring *r, int edge)
{
    return blocks + (size_t)edge * (r->bytes / sizeof *blocks);
}

static uint64_t mark(const struct ring *r, int rank, int edge)
{
    return r->turn << 8 | (uint64_t)rank << 1 | (uint64_t)edge;
}

static void begin_turn(struct ring *r)
{
    r->turn++;
    for (int edge = DOWN; edge <= UP; edge++)
        block(r->out, r, edge)[0] = mark(r, my_rank, edge);
}

static void by_collective(void *context, long count)
{
    struct ring *r = context;

    for (long i = 0; i < count; i++) {
        begin_turn(r);
        MPI_Neighbor_alltoall(r->out, (int)r->bytes, MPI_BYTE, r->in, (int)r->bytes, MPI_BYTE, r->comm);
    }
}

static void by_messages(void *context, long count)
{
    struct ring *r = context;
    int bytes = (int)r->bytes;

    for (long i = 0; i < count; i++) {
        MPI_Request requests[2 * EDGES];

        begin_turn(r);
        MPI_Irecv(block(r->in, r, DOWN), bytes, MPI_BYTE, r->before, UP, r->comm, &requests[0]);
        MPI_Irecv(block(r->in, r, UP), bytes, MPI_BYTE, r->behind, DOWN, r->comm, &requests[1]);
        MPI_Isend(block(r->out, r, DOWN), bytes, MPI_BYTE, r->before, DOWN, r->comm, &requests[2]);
        MPI_Isend(block(r->out, r, UP), bytes, MPI_BYTE, r->behind, UP, r->comm, &requests[3]);
        MPI_Waitall(2 * EDGES, requests, MPI_STATUSES_IGNORE);
    }
}

static void run_ring(const char *name, body_fn body)
{
    static const size_t sizes[] = { 8, 4 * KIB, 64 * KIB };
    int dims[] = { rank_count }, periods[] = { 1 };
    struct ring r = { .before = (my_rank + rank_count - 1) % rank_count, .behind = (my_rank + 1) % rank_count };

    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &r.comm);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct result result;

        r.bytes = sizes[i];
        r.turn = 0;
        r.out = need_memory(EDGES * r.bytes);
        r.in = need_memory(EDGES * r.bytes);
        for (int edge = DOWN; edge <= UP; edge++)
            fill_pattern(block(r.out, &r, edge), r.bytes, 0);
        result = measure_together(name, r.bytes, body, &r);
        settle(&result, has_pattern(block(r.in, &r, DOWN), r.bytes, mark(&r, r.before, UP)) &&
                            has_pattern(block(r.in, &r, UP), r.bytes, mark(&r, r.behind, DOWN)));
        free_memory(r.in);
        free_memory(r.out);
    }
    MPI_Comm_free(&r.comm);
}

static void run_collectives(void)
{
    run_ring("neighbor-alltoall", by_collective);
}

static void run_messages(void)
{
    run_ring("neighbor-messages", by_messages);
}

static const struct need collectives[] = { NEED(MPI_Cart_create), NEED(MPI_Neighbor_alltoall), { 0 } };
static const struct need messages[] = { NEED(MPI_Cart_create), NEED(MPI_Irecv), NEED(MPI_Isend), NEED(MPI_Waitall), { 0 } };

const struct bench_case neighbor_cases[] = {
    { "neighbor-alltoall", 2, collectives, run_collectives },
    { "neighbor-messages", 2, messages, run_messages },
    { 0 },
};
