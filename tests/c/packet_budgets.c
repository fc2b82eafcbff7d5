/* What patterns of calls cost in packets, both ranks together and acknowledgements included, over a channel between machines:
 * the table of docs/epochs.md. Where memory is mapped, or all sizes are smallest, the patterns run and nothing is counted.
 *
 * ranks: 2
 * peers: none, the counters are this library's */
#include "tool.h"

#define WORDS 64

static MPI_Win win;
static long data[WORDS], *memory;

static void lock_put_unlock(void)
{
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    OK(MPI_Put(data, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(1, win));
}

static void lock_five_puts_unlock(void)
{
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    for (int i = 0; i < 5; i++)
        OK(MPI_Put(&data[i], 1, MPI_LONG, 1, 2 * i, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(1, win));
}

static void lock_three_gets_unlock(void)
{
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    for (int i = 0; i < 3; i++)
        OK(MPI_Get(&data[2 * i], 1, MPI_LONG, 1, 2 * i, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(1, win));
}

static void lock_fetch_unlock(void)
{
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    OK(MPI_Fetch_and_op(&data[0], &data[1], MPI_LONG, 1, 0, MPI_SUM, win));
    OK(MPI_Win_unlock(1, win));
}

static void lock_all_accumulate(void)
{
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Accumulate(data, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_unlock_all(win));
}

static void put_flush(void)
{
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win));
    OK(MPI_Put(data, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
    OK(MPI_Win_flush(1, win));
    OK(MPI_Win_unlock(1, win));
}

static void nothing(void)
{
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    OK(MPI_Win_flush(1, win));
    OK(MPI_Win_unlock(1, win));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_flush_all(win));
    OK(MPI_Win_unlock_all(win));
}

static const struct pattern {
    const char *name;
    void (*run)(void);
    int packets;
} PATTERNS[] = {
    { "lock, put, unlock", lock_put_unlock, 2 },
    { "lock, five puts, unlock", lock_five_puts_unlock, 7 },
    { "lock, three gets, unlock", lock_three_gets_unlock, 6 },
    { "lock, fetch_and_op, unlock", lock_fetch_unlock, 2 },
    { "lock_all, accumulate, unlock_all", lock_all_accumulate, 2 },
    { "put, flush", put_flush, 2 },
    { "epochs of nothing", nothing, 0 },
};

/* The one-sided packets of all ranks since `before`. */
static long packets_since(unsigned long long before, unsigned long long now)
{
    long mine = (long)(now - before), all = 0;
    OK(MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    return all;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_pvar_session session;
    check_begin(&argc, &argv);
    const char *channel = getenv("RMA_CHANNEL");
    int is_far = channel != NULL && (strcmp(channel, "tcp") == 0 || strcmp(channel, "ofi") == 0);
    int is_counted = is_far && getenv("RMA_TRANSFER_FROM") == NULL && getenv("RMA_OP_POOL_WINDOW") == NULL;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_Win_allocate(sizeof data, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI_T_pvar_handle packets = tool_meter(session, "rma_packets_sent", MPI_T_PVAR_CLASS_COUNTER, NULL);
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof PATTERNS / sizeof *PATTERNS; i++) {
            const struct pattern *pattern = &PATTERNS[i];
            unsigned long long before = tool_value(session, packets);
            OK(MPI_Barrier(MPI_COMM_WORLD));
            if (check_rank == 0)
                pattern->run();
            OK(MPI_Barrier(MPI_COMM_WORLD));
            long sent = packets_since(before, tool_value(session, packets));
            if (is_counted && sent != pattern->packets)
                CHECK_SAY("%s: %ld packets, not %d", pattern->name, sent, pattern->packets);
        }
        /* The word of a window of two ranks is a packet of each; the put is one more. */
        unsigned long long before = tool_value(session, packets);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_fence(0, win));
        if (check_rank == 0)
            OK(MPI_Put(data, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
        OK(MPI_Win_fence(0, win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        long sent = packets_since(before, tool_value(session, packets));
        if (is_counted && sent > 4)
            CHECK_SAY("fence, put, fence: %ld packets, more than 4", sent);
    }
    OK(MPI_Win_free(&win));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return check_end();
}
