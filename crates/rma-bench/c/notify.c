/* Data to rank 1, which is told and sends as many back: by notified puts, by a put with its flush and a message, and by a put with its
 * flush and a put of a flag that the other rank polls. All three between the same two windows' memories. */

#include "bench.h"

#define PARTNER 1
#define TAG 9

struct trip {
    MPI_Win window;
    volatile uint64_t *memory; /* the data, and behind them the flag */
    uint64_t *local;
    size_t bytes;
    uint64_t turn;
};

static const size_t sizes[] = { 8, 64 * KIB };

static void put_data(struct trip *t, int other)
{
    t->local[0] = t->turn;
    MPI_Put(t->local, (int)t->bytes, MPI_BYTE, other, 0, (int)t->bytes, MPI_BYTE, t->window);
}

static void by_notice(void *context, long count)
{
    struct trip *t = context;
    int other = my_rank == 0 ? PARTNER : 0;
    MPI_Count value;

    for (long i = 0; i < count && my_rank <= PARTNER; i++) {
        t->turn++;
        t->local[0] = t->turn;
        if (my_rank == PARTNER)
            MPIX_Win_wait_notify(t->window, 0, (MPI_Count)t->turn, &value);
        MPIX_Put_notify(t->local, (int)t->bytes, MPI_BYTE, other, 0, (int)t->bytes, MPI_BYTE, 0, t->window);
        if (my_rank == 0)
            MPIX_Win_wait_notify(t->window, 0, (MPI_Count)t->turn, &value);
    }
    MPI_Win_flush_all(t->window);
}

static void by_message(void *context, long count)
{
    struct trip *t = context;
    int other = my_rank == 0 ? PARTNER : 0;

    for (long i = 0; i < count && my_rank <= PARTNER; i++) {
        t->turn++;
        if (my_rank == PARTNER)
            MPI_Recv(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        put_data(t, other);
        MPI_Win_flush(other, t->window);
        MPI_Send(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
        if (my_rank == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void await_flag(struct trip *t)
{
    volatile uint64_t *flag = t->memory + t->bytes / sizeof *t->memory;

    /* The flush makes progress. */
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != t->turn)
        MPI_Win_flush(my_rank, t->window);
}

static void by_flag(void *context, long count)
{
    struct trip *t = context;
    int other = my_rank == 0 ? PARTNER : 0;

    for (long i = 0; i < count && my_rank <= PARTNER; i++) {
        t->turn++;
        if (my_rank == PARTNER)
            await_flag(t);
        put_data(t, other);
        MPI_Win_flush(other, t->window);
        MPI_Put(&t->turn, sizeof t->turn, MPI_BYTE, other, (MPI_Aint)t->bytes, sizeof t->turn, MPI_BYTE, t->window);
        MPI_Win_flush(other, t->window);
        if (my_rank == 0)
            await_flag(t);
    }
}

static void run_trips(const char *name, body_fn body, int has_counter)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct trip t = { .bytes = sizes[i], .local = need_memory(sizes[i]) };
        struct result result;

        fill_pattern(t.local, t.bytes, 0);
        t.memory = make_window(t.bytes + sizeof(uint64_t), &t.window);
        if (has_counter)
            MPIX_Win_set_num_notify(t.window, MPI_INFO_NULL, 1);
        MPI_Win_lock_all(0, t.window);
        result = measure_together(name, t.bytes, body, &t);
        MPI_Win_unlock_all(t.window);
        MPI_Barrier(MPI_COMM_WORLD);
        settle(&result, my_rank > PARTNER || t.memory[0] == t.turn);
        MPI_Win_free(&t.window);
        free_memory(t.local);
    }
}

static void run_notices(void)
{
    run_trips("put-notify", by_notice, 1);
}

static void run_messages(void)
{
    run_trips("put-send", by_message, 0);
}

static void run_flags(void)
{
    run_trips("put-flag", by_flag, 0);
}

static const struct need notices[] = { NEED(MPIX_Put_notify), NEED(MPIX_Win_wait_notify), NEED(MPIX_Win_set_num_notify),
                                       NEED(MPI_Win_lock_all), { 0 } };
static const struct need puts[] = { NEED(MPI_Put), NEED(MPI_Win_flush), NEED(MPI_Send), NEED(MPI_Win_lock_all), { 0 } };

const struct bench_case notify_cases[] = {
    { "put-notify", 2, notices, run_notices },
    { "put-send", 2, puts, run_messages },
    { "put-flag", 2, puts, run_flags },
    { 0 },
};
