/* A message to rank 1 and one of the same size back: what the runtime's own messages cost, since barriers and the start of
 * epochs over packets stand on them. */

#include "bench.h"

#define PARTNER 1
#define TAG 7

struct message {
    uint64_t *local;
    int bytes;
};

static void send_and_receive(void *context, long count)
{
    struct message *m = context;

    for (long i = 0; i < count; i++) {
        if (my_rank == 0) {
            m->local[0]++;
            MPI_Send(m->local, m->bytes, MPI_BYTE, PARTNER, TAG, MPI_COMM_WORLD);
            MPI_Recv(m->local, m->bytes, MPI_BYTE, PARTNER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (my_rank == PARTNER) {
            MPI_Recv(m->local, m->bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(m->local, m->bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

static void run_messages(void)
{
    static const size_t all[] = { 8, 4 * KIB, 64 * KIB, MIB };
    size_t sizes = settings.quick ? 2 : sizeof all / sizeof *all;

    for (size_t i = 0; i < sizes; i++) {
        struct message m = { .local = need_memory(all[i]), .bytes = (int)all[i] };
        struct result result;
        uint64_t first;

        fill_pattern(m.local, all[i], 0);
        result = measure_together("message", all[i], send_and_receive, &m);
        first = m.local[0];
        MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
        settle(&result, my_rank > PARTNER || has_pattern(m.local, all[i], first));
        free_memory(m.local);
    }
}

static const struct need messages[] = { NEED(MPI_Send), NEED(MPI_Recv), { 0 } };

const struct bench_case message_cases[] = {
    { "message", 2, messages, run_messages },
    { 0 },
};
