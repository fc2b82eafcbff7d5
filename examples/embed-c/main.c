/* Four processes of a toy with its own transport and collectives use the engine: windows, fence, locks, and post, start,
 * complete, wait, with all kinds of operations. Each checks what it finds in memory. */
#include "channel.h"
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, LEN = 5000, SECONDS = 60 };

static rma_engine engine;
static toy_host *host;
static uint32_t me;

/* What an answer must be; otherwise the text says what was wrong. */
static void expect(int answer, int expected, const char *what)
{
    if (answer == expected)
        return;
    fprintf(stderr, "rank %u: %s answered %d: %s\n", me, what, answer, rma_error_text());
    _exit(1);
}

#define CHECK(call) expect(call, RMA_SUCCESS, #call)

static void must(int is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "rank %u: not true: %s\n", me, what);
    _exit(1);
}

#define MUST(condition) must(condition, #condition)

/* Sleeps until there is something to do, for the engine or for the toy; news is from before the last step and look. */
static void sleep_since(uint64_t news)
{
    rma_external_wait wait;
    CHECK(rma_progress_arm(engine, news, &wait));
    if (wait.id == 0)
        return;
    struct pollfd descriptors[1 + RANKS] = {{.events = POLLIN}};
    CHECK(rma_progress_descriptor(engine, &descriptors[0].fd));
    poll(descriptors, 1 + toy_host_watch(host, descriptors + 1), -1);
    CHECK(rma_progress_disarm(wait));
}

/* One round of the toy's progress: its own letters, and the engine's step. */
static uint64_t progress(void)
{
    uint64_t news;
    toy_host_pump(host);
    CHECK(rma_progress_poll(engine, &news, NULL));
    return news;
}

static void finish(rma_call call)
{
    for (;;) {
        int done;
        uint64_t news = progress();
        CHECK(rma_call_poll(call, &done));
        if (done)
            return;
        sleep_since(news);
    }
}

/* Makes a call that begins something, and finishes what it began. */
#define DO(begin)                                                                                                              \
    do {                                                                                                                       \
        rma_call call;                                                                                                         \
        CHECK(begin);                                                                                                          \
        finish(call);                                                                                                          \
    } while (0)

/* Makes an operation, as soon as there is room for it. */
#define ISSUE(operation)                                                                                                       \
    do {                                                                                                                       \
        int answer;                                                                                                            \
        uint64_t news = progress();                                                                                            \
        while ((answer = (operation)) == RMA_AGAIN) {                                                                          \
            sleep_since(news);                                                                                                 \
            news = progress();                                                                                                 \
        }                                                                                                                      \
        expect(answer, RMA_SUCCESS, #operation);                                                                               \
    } while (0)

static rma_window window_of(uint64_t len)
{
    rma_group world = {.size = sizeof world, .context = 1, .me = me, .count = RANKS, .first = 0, .stride = 1};
    rma_window_spec spec = {.size = sizeof spec, .flavor = RMA_WINDOW_ALLOCATE, .len = len, .unit = sizeof(uint64_t)};
    rma_creation creation;
    rma_window window;
    CHECK(rma_window_begin(engine, &world, &spec, &creation));
    for (;;) {
        uint64_t news = progress();
        CHECK(rma_creation_poll(creation, &window));
        if (window.id != 0)
            return window;
        sleep_since(news);
    }
}

static uint64_t *memory_of(rma_window window)
{
    rma_window_info info = {.size = sizeof info};
    CHECK(rma_window_query(window, &info));
    MUST(info.rank == me && info.ranks == RANKS && info.len == LEN * sizeof(uint64_t));
    return info.memory;
}

/* A row for the right neighbour, which is longer than a packet, and every third element of another one. */
static void fence(rma_window window, uint64_t *memory)
{
    uint32_t left = (me + RANKS - 1) % RANKS, right = (me + 1) % RANKS;
    static uint64_t row[LEN];
    for (int i = 0; i < LEN; i++)
        row[i] = me * 1000000 + i;
    DO(rma_fence(window, RMA_NOPRECEDE, &call));
    rma_buffer origin = {row, LEN, RMA_UINT64};
    rma_target target = {right, 0, LEN, RMA_UINT64};
    ISSUE(rma_put(window, &origin, &target));
    DO(rma_fence(window, 0, &call));
    for (int i = 0; i < LEN; i++)
        MUST(memory[i] == left * 1000000 + i);
    DO(rma_fence(window, 0, &call));
    rma_type thirds;
    CHECK(rma_type_hvector(10, 1, 3 * sizeof(uint64_t), RMA_UINT64, &thirds));
    rma_buffer ten = {row, 10, RMA_UINT64};
    rma_target scattered = {right, 100, 1, thirds};
    ISSUE(rma_put(window, &ten, &scattered));
    CHECK(rma_type_free(thirds));
    DO(rma_fence(window, RMA_NOSUCCEED, &call));
    for (int i = 0; i < 30; i++)
        MUST(memory[100 + i] == left * 1000000 + (i % 3 == 0 ? i / 3 : 100 + i));
}

/* Each rank adds to a counter of rank 0, draws a ticket, and one of them wins a place. */
static void locks(rma_window window, uint64_t *memory)
{
    if (me == 0) {
        /* The rank's own memory, which is not accessed before the fence. */
        memory[0] = memory[1] = memory[2] = 0;
    }
    DO(rma_fence(window, 0, &call));
    DO(rma_fence(window, RMA_NOSUCCEED, &call));
    uint64_t one = 1, values[2] = {me + 1, 10 * (me + 1)}, ticket = 99, winner = 99, place = me + 1, none = 0;
    rma_buffer two = {values, 2, RMA_UINT64};
    rma_target counters = {0, 0, 2, RMA_UINT64};
    DO(rma_lock(window, RMA_LOCK_EXCLUSIVE, 0, 0, &call));
    ISSUE(rma_accumulate(window, &two, RMA_SUM, &counters));
    DO(rma_unlock(window, 0, &call));

    DO(rma_lock_all(window, 0, &call));
    ISSUE(rma_fetch_and_op(window, &one, &ticket, RMA_UINT64, RMA_SUM, 0, 3));
    DO(rma_flush(window, 0, &call));
    MUST(ticket >= 3 + 3000000 && ticket < 7 + 3000000);
    ISSUE(rma_compare_and_swap(window, &place, &none, &winner, RMA_UINT64, 0, 2));
    DO(rma_flush_all(window, &call));
    MUST(winner <= RANKS);
    DO(rma_unlock_all(window, &call));
    DO(rma_fence(window, RMA_NOSUCCEED, &call));

    uint64_t found[4];
    rma_buffer result = {found, 4, RMA_UINT64};
    rma_target first = {0, 0, 4, RMA_UINT64};
    rma_call request;
    DO(rma_lock(window, RMA_LOCK_SHARED, 0, 0, &call));
    ISSUE(rma_rget(window, &result, &first, &request));
    finish(request);
    DO(rma_unlock(window, 0, &call));
    MUST(found[0] == 10 && found[1] == 100 && found[2] >= 1 && found[2] <= RANKS && found[3] == 3000007);
    MUST(winner == 0 ? found[2] == me + 1 : found[2] == winner);
}

/* Each exposes its memory to its right neighbour, and reads from its left one. */
static void exposure(rma_window window, uint64_t *memory)
{
    uint32_t left = (me + RANKS - 1) % RANKS, right = (me + 1) % RANKS;
    static uint64_t taken[LEN];
    memory[LEN - 1] = 7 * me;
    CHECK(rma_post(window, &right, 1, 0));
    DO(rma_start(window, &left, 1, 0, &call));
    rma_buffer result = {taken, LEN, RMA_UINT64};
    rma_target all = {left, 0, LEN, RMA_UINT64};
    ISSUE(rma_get(window, &result, &all));
    DO(rma_complete(window, &call));
    DO(rma_wait(window, &call));
    MUST(taken[LEN - 1] == 7 * left && taken[200] == (left + RANKS - 1) % RANKS * 1000000 + 200);
}

/* What is wrong is an answer and a text, and nothing else. */
static void mistakes(rma_window window)
{
    uint64_t value = 0;
    rma_call call;
    rma_buffer origin = {&value, 1, RMA_UINT64};
    rma_target missing = {RANKS, 0, 1, RMA_UINT64}, first = {0, 0, 1, RMA_UINT64}, outside = {0, LEN, 1, RMA_UINT64};
    expect(rma_put(window, &origin, &first), RMA_ERR_RMA_SYNC, "a put outside an epoch");
    expect(rma_unlock(window, 0, &call), RMA_ERR_RMA_SYNC, "an unlock without a lock");
    expect(rma_lock(window, 7, 0, 0, &call), RMA_ERR_LOCKTYPE, "a lock of type 7");
    DO(rma_lock_all(window, 0, &call));
    expect(rma_put(window, &origin, &missing), RMA_ERR_RANK, "a put to a missing rank");
    expect(rma_put(window, &origin, &outside), RMA_ERR_RMA_RANGE, "a put behind the window");
    MUST(strstr(rma_error_text(), "MPI_ERR_RMA_RANGE") != NULL);
    expect(rma_put((rma_window){window.id + 1}, &origin, &first), RMA_ERR_ARG, "a put on no window");
    DO(rma_unlock_all(window, &call));
    expect(rma_engine_destroy(engine), RMA_ERR_WIN, "the end of an engine with windows");
}

static const char *look_up(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

static int rank(const int *packets, const int *letters)
{
    toy_channel *channel = toy_channel_new(me, RANKS, packets);
    host = toy_host_new(me, RANKS, letters);
    MUST(channel && host);
    rma_engine_options options = {
        .size = sizeof options,
        .channel = &toy_channel_table,
        .channel_context = channel,
        .host = &toy_host_table,
        .host_context = host,
        .me = me,
        .look_up = look_up,
    };
    CHECK(rma_engine_create(&options, &engine));
    rma_window window = window_of(LEN * sizeof(uint64_t));
    uint64_t *memory = memory_of(window);
    fence(window, memory);
    locks(window, memory);
    exposure(window, memory);
    mistakes(window);
    DO(rma_window_free(window, &call));
    for (int closed = 0; !closed;) {
        uint64_t news = progress();
        CHECK(rma_engine_close(engine, &closed));
        if (!closed)
            sleep_since(news);
    }
    CHECK(rma_engine_destroy(engine));
    return 0;
}

int main(void)
{
    static int packets[RANKS * RANKS * TOY_LANES], letters[RANKS * RANKS];
    pid_t children[RANKS];
    int failures = 0;
    if (toy_mesh(RANKS, TOY_LANES, packets) != 0 || toy_mesh(RANKS, 1, letters) != 0)
        return 1;
    for (me = 0; me < RANKS; me++) {
        children[me] = fork();
        if (children[me] < 0)
            return 1;
        if (children[me] == 0) {
            alarm(SECONDS);
            /* The ends of others are theirs: an end of a stream is how the toy sees a death. */
            for (int i = 0; i < RANKS * RANKS * TOY_LANES; i++)
                if (i / (RANKS * TOY_LANES) != (int)me && packets[i] >= 0)
                    close(packets[i]);
            for (int i = 0; i < RANKS * RANKS; i++)
                if (i / RANKS != (int)me && letters[i] >= 0)
                    close(letters[i]);
            return rank(packets + me * RANKS * TOY_LANES, letters + me * RANKS);
        }
    }
    for (int i = 0; i < RANKS * RANKS * TOY_LANES; i++)
        if (packets[i] >= 0)
            close(packets[i]);
    for (int i = 0; i < RANKS * RANKS; i++)
        if (letters[i] >= 0)
            close(letters[i]);
    for (int i = 0; i < RANKS; i++) {
        int status = 1;
        waitpid(children[i], &status, 0);
        failures += status != 0;
    }
    if (failures == 0)
        printf("%d processes of a toy have put, got and accumulated; every byte is where it should be\n", RANKS);
    return failures != 0;
}
