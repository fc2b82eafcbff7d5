/* Over a network that reaches a window's memory by itself, a long put or get and its flush are one transfer and no packet.
 * Elsewhere nothing is a transfer. The bytes are there either way.
 *
 * ranks: 2
 * peers: none, the counters are this library's */
#include "tool.h"

#define WORDS 2000

/* Puts and flushes until the target's key is here, or it is known that none comes. */
static int has_transfers(MPI_T_pvar_session session, MPI_T_pvar_handle transfers, MPI_Win win, const long *data)
{
    for (int i = 0; i < 100 && tool_value(session, transfers) == 0; i++) {
        OK(MPI_Put(data, WORDS, MPI_LONG, 1, 0, WORDS, MPI_LONG, win));
        OK(MPI_Win_flush(1, win));
    }
    return tool_value(session, transfers) > 0;
}

int main(int argc, char **argv)
{
    static long data[WORDS], found[WORDS];
    int provided;
    long *memory;
    MPI_Win win;
    MPI_T_pvar_session session;
    check_begin(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_Win_allocate(sizeof data, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI_T_pvar_handle transfers = tool_meter(session, "rma_transfers", MPI_T_PVAR_CLASS_COUNTER, NULL);
    MPI_T_pvar_handle packets = tool_meter(session, "rma_win_packets_sent", MPI_T_PVAR_CLASS_COUNTER, &win);
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    if (check_rank == 0) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        int has_any = has_transfers(session, transfers, win, data);
        for (int round = 1; round <= 20; round++) {
            unsigned long long sent = tool_value(session, packets), begun = tool_value(session, transfers);
            for (int i = 0; i < WORDS; i++)
                data[i] = 1000000L * round + i;
            OK(MPI_Put(data, WORDS, MPI_LONG, 1, 0, WORDS, MPI_LONG, win));
            OK(MPI_Win_flush(1, win));
            OK(MPI_Get(found, WORDS, MPI_LONG, 1, 0, WORDS, MPI_LONG, win));
            OK(MPI_Win_flush(1, win));
            CHECK(memcmp(data, found, sizeof data) == 0);
            if (has_any) {
                CHECK_EQ(tool_value(session, packets) - sent, 0);
                CHECK_EQ(tool_value(session, transfers) - begun, 2);
            }
        }
        OK(MPI_Win_unlock(1, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 1)
        CHECK_EQ(memory[WORDS - 1], 20000000L + WORDS - 1);
    OK(MPI_Win_free(&win));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return check_end();
}
