/* Bad arguments, and tables that answer what they should not: each is an answer and a text. One process; where a window has a
 * second rank, that one does not exist, and this process's host and channel pretend. */
#include "rma.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int line_failed;

#define EXPECT(call, expected, text)                                                                                           \
    do {                                                                                                                       \
        int got = (call);                                                                                                   \
        if (got != (expected) || (got > 0 && !strstr(rma_error_text(), text))) {                                        \
            printf("line %d: %s answered %d: %s\n", __LINE__, #call, got, got ? rma_error_text() : "");                   \
            line_failed = 1;                                                                                                   \
        }                                                                                                                      \
    } while (0)
#define GOOD(call) EXPECT(call, RMA_SUCCESS, "")

/* ------------------------------------------------------------------------------------------- a pretended transport and host */

static rma_engine engine;
static const rma_waker *waker;
static int reserve_answer, gives_memory, destroyed, calls_back, callback_answer, reduce_answer, sent;
static unsigned char packet[4096];
static int (*next_poll)(rma_sink *sink);

static void registered(void *self, const rma_waker *given)
{
    (void)self;
    waker = given;
}
static int reserve(void *self, uint32_t peer, int lane, size_t len, void **memory)
{
    (void)self, (void)peer, (void)lane, (void)len;
    *memory = gives_memory ? packet : NULL;
    return reserve_answer;
}
static void commit(void *self)
{
    (void)self;
    sent++;
}
static int send_bulk(void *self, uint32_t peer, int lane, const void *head, size_t len, rma_area *body, uint64_t token)
{
    (void)self, (void)peer, (void)lane, (void)head, (void)len, (void)body, (void)token;
    return 17;
}
static int poll_(void *self, rma_sink *sink)
{
    (void)self;
    if (calls_back) {
        calls_back = 0;
        callback_answer = rma_progress_poll(engine, NULL, NULL);
    }
    int (*now)(rma_sink *) = next_poll;
    next_poll = NULL;
    return now ? now(sink) : RMA_POLL_IDLE;
}
static int arm(void *self)
{
    (void)self;
    return RMA_ARMED_SLEEP;
}
static int close_(void *self)
{
    (void)self;
    return RMA_CLOSE_DONE;
}
static void destroy(void *self)
{
    (void)self;
    destroyed++;
}

static const rma_channel_table good_channel = {
    .size = sizeof good_channel,
    .name = "none",
    .max_packet = 512,
    .bulk_from = 256,
    .registered = registered,
    .reserve = reserve,
    .commit = commit,
    .send_bulk = send_bulk,
    .poll = poll_,
    .arm = arm,
    .close = close_,
    .destroy = destroy,
};

static uint64_t brought[16][64];
static size_t reduces;

static int begin_reduce(void *self, const rma_collective *name, int combine, const uint64_t *values, size_t count, uint64_t *request)
{
    (void)self, (void)combine;
    if (name->size != sizeof *name || name->peer(name, 0) != 0 || name->peer(name, name->members) != UINT32_MAX)
        return RMA_ERR_INTERN;
    *request = reduces++ % 16;
    if (count > 0)
        memcpy(brought[*request], values, count * sizeof *values);
    return reduce_answer;
}
static int poll_reduce(void *self, uint64_t request, uint64_t *values, size_t count, int *done)
{
    (void)self;
    if (count > 0)
        memcpy(values, brought[request], count * sizeof *values);
    *done = 1;
    return RMA_SUCCESS;
}

static const rma_host_table good_host = {
    .size = sizeof good_host,
    .begin_reduce = begin_reduce,
    .poll_reduce = poll_reduce,
    .destroy = destroy,
};

/* ------------------------------------------------------------------------------------------------------------------ options */

static int create(rma_channel_table channel, rma_host_table host)
{
    rma_engine_options options = {.size = sizeof options, .channel = &channel, .host = &host};
    return rma_engine_create(&options, &engine);
}

static const char *wrong_slots(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "RMA_SLOTS") == 0 ? "none" : NULL;
}

static void options(void)
{
    rma_channel_table channel = good_channel;
    rma_host_table host = good_host;
    rma_engine_options all = {.size = sizeof all, .channel = &channel, .host = &host};
    EXPECT(rma_engine_create(NULL, &engine), RMA_ERR_ARG, "options is null");
    EXPECT(rma_engine_create(&all, NULL), RMA_ERR_ARG, "engine is null");
    all.size = 8;
    EXPECT(rma_engine_create(&all, &engine), RMA_ERR_ARG, "sizeof");
    all.size = sizeof all;
    all.look_up = wrong_slots;
    EXPECT(rma_engine_create(&all, &engine), RMA_ERR_ARG, "RMA_SLOTS is set to \"none\"");
    all.look_up = NULL;
    all.host = NULL;
    EXPECT(rma_engine_create(&all, &engine), RMA_ERR_ARG, "host is null");
#define WITHOUT(table, field, text)                                                                                            \
    do {                                                                                                                       \
        table = good_##table;                                                                                                  \
        table.field = 0;                                                                                                       \
        EXPECT(create(channel, host), RMA_ERR_ARG, text);                                                                      \
        table = good_##table;                                                                                                  \
    } while (0)
    WITHOUT(channel, size, "channel has size 0");
    WITHOUT(channel, name, "name is null");
    WITHOUT(channel, max_packet, "max_packet is 0");
    WITHOUT(channel, reserve, "no function reserve");
    WITHOUT(channel, commit, "no function commit");
    WITHOUT(channel, send_bulk, "no function send_bulk");
    WITHOUT(channel, poll, "no function poll");
    WITHOUT(channel, arm, "no function arm");
    WITHOUT(channel, close, "no function close");
    WITHOUT(host, begin_reduce, "no function begin_reduce");
    WITHOUT(host, poll_reduce, "no function poll_reduce");
    channel.bulk_from = 513;
    EXPECT(create(channel, host), RMA_ERR_ARG, "bulk_from is 513");
    /* A later version's table is taken as long as it does not ask for what this one does not have. */
    struct {
        rma_host_table table;
        void (*news)(void);
    } later = {good_host, NULL};
    later.table.size = sizeof later;
    all = (rma_engine_options){.size = sizeof all, .channel = &good_channel, .host = &later.table};
    GOOD(rma_engine_create(&all, &engine));
    if (destroyed != 0)
        EXPECT(1, 0, "an engine that was not made destroyed something");
    GOOD(rma_engine_destroy(engine));
    if (destroyed != 2)
        EXPECT(1, 0, "channel and host are destroyed with the engine");
    later.news = (void (*)(void))options;
    EXPECT(rma_engine_create(&all, &engine), RMA_ERR_ARG, "what version 1 of this library does not have");
    /* Tables of the first version end earlier; what lies behind them is not looked at. */
    host = good_host;
    host.size = offsetof(rma_host_table, abandon_reduce);
    host.system = 1000;
    all = (rma_engine_options){.size = offsetof(rma_engine_options, observe), .channel = &good_channel, .host = &host};
    all.observe_context = &host;
    GOOD(rma_engine_create(&all, &engine));
    GOOD(rma_engine_destroy(engine));
    host.size--;
    EXPECT(rma_engine_create(&all, &engine), RMA_ERR_ARG, "host has size");
    host = good_host;
    host.system = 8;
    EXPECT(create(good_channel, host), RMA_ERR_ARG, "RMA_SYSTEM_");
    host.system = RMA_SYSTEM_PROCESSOR_TIME | RMA_SYSTEM_BARRIERS | RMA_SYSTEM_LIFE;
    GOOD(create(good_channel, host));
    GOOD(rma_engine_destroy(engine));
}

/* ------------------------------------------------------------------------------------------------------------------ windows */

static int open_window(uint32_t ranks, rma_window_spec spec, rma_window *window)
{
    rma_group group = {.size = sizeof group, .context = 5, .count = ranks, .stride = 1};
    rma_creation creation;
    int answer = rma_window_begin(engine, &group, &spec, &creation);
    window->id = 0;
    while (answer == RMA_SUCCESS && window->id == 0) {
        rma_progress_poll(engine, NULL, NULL);
        answer = rma_creation_poll(creation, window);
    }
    return answer;
}

static int finish(rma_call call)
{
    int done = 0, answer = RMA_SUCCESS;
    for (int round = 0; !done && answer == RMA_SUCCESS && round < 1000; round++) {
        rma_progress_poll(engine, NULL, NULL);
        answer = rma_call_poll(call, &done);
    }
    return answer;
}

static void free_window(rma_window window)
{
    rma_call call;
    GOOD(rma_window_free(window, &call));
    GOOD(finish(call));
    EXPECT(rma_window_free(window, &call), RMA_ERR_ARG, "is not a window");
}

static void handles(void)
{
    rma_window window;
    rma_call call;
    rma_external_wait wait;
    int closed;
    uint64_t size, news, memory[8] = {0};
    rma_window_spec spec = {.size = sizeof spec, .len = 64, .unit = 8};
    GOOD(create(good_channel, good_host));
    EXPECT(rma_engine_close((rma_engine){0}, &closed), RMA_ERR_ARG, "0x0 is not an engine");
    EXPECT(rma_engine_close((rma_engine){engine.id + 1}, &closed), RMA_ERR_ARG, "is not an engine");
    EXPECT(rma_progress_disarm((rma_external_wait){engine.id}), RMA_ERR_ARG, "is not an external wait");
    EXPECT(rma_progress_serve((rma_engine){engine.id + 1}), RMA_ERR_ARG, "is not an engine");
    GOOD(rma_progress_serve(engine));
    GOOD(rma_progress_poll(engine, &news, NULL));
    GOOD(rma_progress_arm(engine, news, &wait));
    GOOD(rma_progress_disarm(wait));
    EXPECT(rma_progress_disarm(wait), RMA_ERR_ARG, "is not an external wait");
    GOOD(open_window(1, spec, &window));
    EXPECT(rma_fence((rma_window){engine.id}, 0, &call), RMA_ERR_ARG, "is not a window");
    EXPECT(rma_fence(window, 0, NULL), RMA_ERR_ARG, "call is null");
    EXPECT(rma_fence(window, RMA_NOCHECK, &call), RMA_ERR_ASSERT, "assert");
    EXPECT(rma_post(window, NULL, 1, 0), RMA_ERR_ARG, "ranks is null");
    EXPECT(rma_engine_destroy(engine), RMA_ERR_WIN, "1 windows");
    GOOD(rma_lock(window, RMA_LOCK_EXCLUSIVE, 0, 0, &call));
    GOOD(finish(call));
    rma_buffer buffer = {memory, 8, RMA_UINT64}, none = {NULL, 8, RMA_UINT64}, strange = {memory, 8, 12345};
    rma_target target = {0, 0, 8, RMA_UINT64}, shorter = {0, 0, 7, RMA_UINT64};
    EXPECT(rma_put(window, NULL, &target), RMA_ERR_ARG, "origin is null");
    EXPECT(rma_put(window, &buffer, NULL), RMA_ERR_ARG, "target is null");
    EXPECT(rma_put(window, &none, &target), RMA_ERR_BUFFER, "null memory");
    EXPECT(rma_get(window, &strange, &target), RMA_ERR_TYPE, "is not a datatype");
    EXPECT(rma_put(window, &buffer, &shorter), RMA_ERR_TRUNCATE, "64 bytes");
    EXPECT(rma_accumulate(window, &buffer, 99, &target), RMA_ERR_OP, "99 is no operation");
    EXPECT(rma_accumulate(window, &buffer, RMA_MINLOC, &target), RMA_ERR_OP, "MPI_MINLOC");
    EXPECT(rma_fetch_and_op(window, NULL, memory, RMA_INT64, RMA_SUM, 0, 0), RMA_ERR_BUFFER, "origin is null");
    EXPECT(rma_fetch_and_op(window, memory, NULL, RMA_INT64, RMA_SUM, 0, 0), RMA_ERR_ARG, "result is null");
    EXPECT(rma_compare_and_swap(window, memory, memory, memory, RMA_DOUBLE_INT, 0, 0), RMA_ERR_TYPE, "compared");
    GOOD(rma_fetch_and_op(window, NULL, memory, RMA_COMPLEX_DOUBLE, RMA_NO_OP, 0, 0));
    rma_target nowhere = {RMA_RANK_NULL, 1000, 8, RMA_UINT64};
    uint64_t kept = memory[0];
    GOOD(rma_put(window, &buffer, &nowhere));
    GOOD(rma_get(window, &buffer, &nowhere));
    GOOD(rma_rget(window, &buffer, &nowhere, &call));
    EXPECT((int)call.id, 0, "over at once");
    EXPECT(rma_put(window, &strange, &nowhere), RMA_ERR_TYPE, "is not a datatype");
    GOOD(rma_lock(window, RMA_LOCK_EXCLUSIVE, RMA_RANK_NULL, 0, &call));
    GOOD(finish(call));
    GOOD(rma_unlock(window, RMA_RANK_NULL, &call));
    GOOD(finish(call));
    EXPECT(memory[0] == kept ? 0 : 1, 0, "kept");
    GOOD(rma_unlock(window, 0, &call));
    GOOD(finish(call));
    GOOD(rma_call_forget((rma_call){0}));
    EXPECT(rma_type_free(RMA_INT32), RMA_ERR_TYPE, "not freed");
    EXPECT(rma_type_query(0, &size, NULL, NULL), RMA_ERR_TYPE, "is not a datatype");
    rma_type row;
    GOOD(rma_type_contiguous(3, RMA_INT32, &row));
    GOOD(rma_type_query(row, &size, NULL, NULL));
    GOOD(size == 12 ? 0 : 1);
    GOOD(rma_type_free(row));
    EXPECT(rma_type_free(row), RMA_ERR_TYPE, "none any more");
    EXPECT(rma_type_hindexed(2, NULL, NULL, RMA_INT32, &row), RMA_ERR_ARG, "block_lens is null");
    free_window(window);

    spec.flavor = 9;
    EXPECT(open_window(1, spec, &window), RMA_ERR_ARG, "9 is no flavor");
    spec = (rma_window_spec){.size = sizeof spec, .flavor = RMA_WINDOW_CREATE, .len = 64, .unit = 8};
    EXPECT(open_window(1, spec, &window), RMA_ERR_ARG, "memory is null");
    spec = (rma_window_spec){.size = sizeof spec, .len = 64, .unit = 0};
    EXPECT(open_window(1, spec, &window), RMA_ERR_DISP, "displacement unit 0");
    spec = (rma_window_spec){.size = sizeof spec, .len = UINT64_MAX, .unit = 1};
    EXPECT(open_window(1, spec, &window), RMA_ERR_SIZE, "over the largest");
    EXPECT(open_window(0, spec, &window), RMA_ERR_GROUP, "group of 0");
    const char *hints[] = {"no_locks", "true", "what", NULL};
    spec = (rma_window_spec){.size = sizeof spec, .len = 64, .unit = 1, .hints = hints};
    EXPECT(open_window(1, spec, &window), RMA_ERR_ARG, "the hint what has no value");
    spec = (rma_window_spec){.size = sizeof spec, .flavor = RMA_WINDOW_SHARED, .len = 64, .unit = 1};
    EXPECT(open_window(2, spec, &window), RMA_ERR_RMA_SHARED, "share no memory");
    spec.flavor = RMA_WINDOW_DYNAMIC;
    GOOD(open_window(1, spec, &window));
    GOOD(rma_window_attach(window, memory, sizeof memory));
    EXPECT(rma_window_attach(window, memory, 8), RMA_ERR_RMA_ATTACH, "");
    EXPECT(rma_window_attach(window, NULL, 8), RMA_ERR_ARG, "memory is null");
    GOOD(rma_window_detach(window, memory));
    EXPECT(rma_window_detach(window, memory), RMA_ERR_BASE, "");
    EXPECT(rma_window_begin_detach(window, memory, &call), RMA_ERR_BASE, "");
    GOOD(rma_window_attach(window, memory, sizeof memory));
    GOOD(rma_window_begin_detach(window, memory, &call));
    GOOD(finish(call));
    GOOD(rma_window_attach(window, memory, sizeof memory));
    free_window(window);
    GOOD(rma_engine_destroy(engine));
}

/* ---------------------------------------------------------------------------------------------- tables that do not behave */

static int says_nonsense(rma_sink *sink)
{
    static const char text[] = "no packet of any job";
    rma_area *place;
    /* Nothing of this is believed, and nothing of it is a crash. */
    if (sink->packet(sink, 1, 7, text, 5) != RMA_REFUSED || sink->packet(sink, 1, 0, text, 5) != RMA_REFUSED)
        line_failed = 1;
    if (sink->packet(sink, 2, 0, NULL, 100) != RMA_REFUSED || sink->packet(sink, 3, 0, text, sizeof text) != RMA_REFUSED)
        line_failed = 1;
    if (sink->bulk(sink, 4, 1, text, sizeof text, 1000, &place) != RMA_REFUSED || place != NULL)
        line_failed = 1;
    if (sink->bulk_received(sink, 5, 0) != RMA_REFUSED || sink->bulk(sink, 6, 0, text, 4, 4, NULL) != RMA_REFUSED)
        line_failed = 1;
    sink->bulk_sent(sink, 12345);
    sink->writable(sink, 1, -3);
    sink->failed(sink, 1, 99, NULL);
    return RMA_POLL_MOVED;
}

static void lost_by(const char *text)
{
    rma_window window;
    rma_call call;
    uint64_t value = 1;
    rma_buffer origin = {&value, 1, RMA_UINT64};
    rma_target target = {1, 0, 1, RMA_UINT64};
    rma_window_spec spec = {.size = sizeof spec, .len = 64, .unit = 8};
    GOOD(create(good_channel, good_host));
    GOOD(open_window(2, spec, &window));
    GOOD(rma_lock(window, RMA_LOCK_SHARED, 1, 0, &call));
    GOOD(finish(call));
    int answer = rma_put(window, &origin, &target);
    if (answer == RMA_SUCCESS && (answer = rma_unlock(window, 1, &call)) == RMA_SUCCESS)
        answer = finish(call);
    EXPECT(answer, RMA_ERR_PROC_FAILED, text);
}

static void tables(void)
{
    rma_window window;
    rma_window_spec spec = {.size = sizeof spec, .len = 64, .unit = 8};
    reserve_answer = 17;
    lost_by("reserve answered 17");
    reserve_answer = RMA_ROOM_GRANTED;
    lost_by("granted room without memory");
    gives_memory = 1;
    next_poll = says_nonsense;
    lost_by("a lane that there is not");
    reduce_answer = RMA_ERR_PROC_ABORTED;
    GOOD(create(good_channel, good_host));
    EXPECT(open_window(1, spec, &window), RMA_ERR_PROC_ABORTED, "begin_reduce answered 58");
    reduce_answer = -5;
    EXPECT(open_window(1, spec, &window), RMA_ERR_OTHER, "begin_reduce answered -5");
    reduce_answer = 0;
    calls_back = 1;
    GOOD(rma_progress_poll(engine, NULL, NULL));
    if (callback_answer != RMA_ERR_INTERN || !strstr(rma_error_text(), "must not call the engine"))
        EXPECT(1, 0, "a table's function got into the engine");
    waker->wake(waker);
    GOOD(rma_progress_wake(engine));
    GOOD(rma_engine_destroy(engine));
}

/* ----------------------------------------------------------------------------------------------------------------- segments */

static int segment_fault, released;

static int begin_segment(void *self, const rma_collective *name, const rma_segment_request *asked, uint64_t *request)
{
    (void)self, (void)name;
    *request = asked->kind == RMA_SEGMENT_GIVEN ? 0 : asked->data_len;
    return asked->control_len > 4096 ? RMA_ERR_NO_MEM : RMA_SUCCESS;
}
static void release(void *memory)
{
    released++;
    free(memory);
}
static int poll_segment(void *self, uint64_t data_len, rma_segment *segment, int *done)
{
    (void)self;
    if (segment_fault == 8)
        return RMA_ERR_NO_MEM;
    char *memory = aligned_alloc(4096, 3 * 4096);
    memset(memory, 0, 3 * 4096);
    segment->release = release;
    segment->memory = memory;
    rma_segment_part part = {0, memory, 4096, memory + 4096, data_len};
    rma_segment_part other = {1, memory, 4096, memory + 8192, data_len};
    switch (segment_fault) {
    case 1: part.rank = 1; break;
    case 2: part.control = memory + 8; break;
    case 3: part.control_len = 64; break;
    case 4: part.data_len--; break;
    case 5: part.data = NULL; break;
    case 6: segment->add(segment, &other); break;
    case 7: part.control = NULL; break;
    case 9: part.data = memory + 4096 + 64; break;
    }
    if (segment->add(segment, NULL) != RMA_ERR_ARG || segment->add(segment, &part) != RMA_SUCCESS)
        line_failed = 1;
    *done = 1;
    return RMA_SUCCESS;
}

static void segments(void)
{
    static const char *const texts[] = {"", "leaves out rank 0", "bad control memory", "bad control memory", "63 bytes for 64",
                                        "bad window memory", "no ascending order", "bad control memory", "answered 39", "not aligned to 4096"};
    rma_host_table host = good_host;
    rma_window window;
    rma_window_info info = {.size = sizeof info};
    rma_window_spec spec = {.size = sizeof spec, .flavor = RMA_WINDOW_SHARED, .len = 64, .unit = 8};
    host.begin_segment = begin_segment;
    EXPECT(create(good_channel, host), RMA_ERR_ARG, "give both or neither");
    host.poll_segment = poll_segment;
    GOOD(create(good_channel, host));
    for (segment_fault = 1; segment_fault <= 9; segment_fault++) {
        int before = released;
        EXPECT(open_window(1, spec, &window), segment_fault == 8 ? RMA_ERR_NO_MEM : RMA_ERR_INTERN, texts[segment_fault]);
        if (released != before + (segment_fault != 8))
            EXPECT(1, 0, "a segment that was refused is released");
    }
    segment_fault = 0;
    GOOD(open_window(1, spec, &window));
    GOOD(rma_window_query(window, &info));
    void *memory;
    uint64_t len, unit;
    GOOD(rma_window_mapped(window, 0, &memory, &len, &unit));
    EXPECT(rma_window_mapped(window, 1, &memory, &len, &unit), RMA_ERR_RANK, "rank 1");
    if (info.len != 64 || info.flavor != RMA_WINDOW_SHARED || memory != info.memory || len != 64 || unit != 8)
        EXPECT(1, 0, "the window is what was asked for");
    int before = released;
    free_window(window);
    GOOD(rma_engine_destroy(engine));
    if (released != before + 1)
        EXPECT(1, 0, "a segment is released with its window");
}

/* Control words alone: a lock of a rank is taken there, without a packet. */
static int begin_control(void *self, const rma_collective *name, const rma_segment_request *asked, uint64_t *request)
{
    (void)self, (void)name;
    *request = 0;
    return asked->kind == RMA_SEGMENT_CONTROL && asked->data_len == 0 ? RMA_SUCCESS : RMA_ERR_INTERN;
}
static int poll_control(void *self, uint64_t request, rma_segment *segment, int *done)
{
    (void)self, (void)request;
    char *memory = aligned_alloc(4096, 2 * 4096);
    memset(memory, 0, 2 * 4096);
    segment->release = release;
    segment->memory = memory;
    segment->is_counted = 1;
    rma_segment_part part = {0, memory, 4096, NULL, 0};
    segment->add(segment, &part);
    uint32_t other = segment_fault == 1 ? 0 : 1;
    if (segment->add_control(NULL, 1, memory, 4096) != RMA_ERR_ARG
        || segment->add_control(segment, other, memory + 4096, segment_fault == 2 ? 8 : 4096) != RMA_SUCCESS)
        line_failed = 1;
    *done = 1;
    return RMA_SUCCESS;
}

static void control_words(void)
{
    rma_host_table host = good_host;
    rma_window window;
    rma_call call;
    rma_window_spec spec = {.size = sizeof spec, .flavor = RMA_WINDOW_DYNAMIC};
    host.begin_segment = begin_control;
    host.poll_segment = poll_control;
    GOOD(create(good_channel, host));
    EXPECT(open_window(2, spec, &window), RMA_ERR_INTERN, "begin_segment answered");
    host.takes_control = 1;
    GOOD(create(good_channel, host));
    segment_fault = 1;
    EXPECT(open_window(2, spec, &window), RMA_ERR_INTERN, "rank 0 twice");
    segment_fault = 2;
    EXPECT(open_window(2, spec, &window), RMA_ERR_INTERN, "bad control memory for rank 1");
    segment_fault = 0;
    GOOD(open_window(2, spec, &window));
    int before = sent;
    GOOD(rma_lock(window, RMA_LOCK_EXCLUSIVE, 1, 0, &call));
    GOOD(finish(call));
    GOOD(rma_unlock(window, 1, &call));
    GOOD(finish(call));
    EXPECT(sent - before, 0, "a lock in shared words takes no packet");
}

/* ------------------------------------------------------------------------------------------ what engine and window tell */

static int events[RMA_EVENT_WINDOW_NAME + 1];
static uint64_t direct_len, event_window;

static void observe(void *context, const rma_event *event)
{
    if (context != events || event->size != sizeof *event || event->kind < 1 || event->kind > RMA_EVENT_WINDOW_NAME)
        line_failed = 1;
    else
        events[event->kind]++;
    if (event->kind == RMA_EVENT_DIRECT) {
        direct_len += event->len;
        event_window = event->window;
        if (event->target != 0 || strcmp(event->text, "put") != 0)
            line_failed = 1;
    }
    if (event->kind == RMA_EVENT_WINDOW_NAME && strcmp(event->text, "halo") != 0)
        line_failed = 1;
}

static void told(void)
{
    rma_window window;
    rma_call call;
    uint64_t value = 1;
    int is_set;
    char text[200];
    rma_buffer origin = {&value, 1, RMA_UINT64};
    rma_target own = {0, 0, 1, RMA_UINT64}, other = {1, 0, 1, RMA_UINT64};
    rma_window_spec spec = {.size = sizeof spec, .len = 64, .unit = 8};
    rma_window_info info = {.size = sizeof info};
    rma_engine_options all = {.size = sizeof all, .channel = &good_channel, .host = &good_host};
    all.observe = observe;
    all.observe_context = events;
    GOOD(rma_engine_create(&all, &engine));
    GOOD(open_window(2, spec, &window));
    GOOD(rma_window_set_name(window, "halo"));
    GOOD(rma_window_query(window, &info));
    GOOD(rma_lock_all(window, RMA_NOCHECK, &call));
    GOOD(finish(call));
    GOOD(rma_put(window, &origin, &own));
    EXPECT(events[RMA_EVENT_DIRECT] == 1 && direct_len == 8 && event_window == info.id ? 0 : 1, 0, "one put, of this window");
    EXPECT(events[RMA_EVENT_WINDOW_NAME] == 1 && events[RMA_EVENT_EPOCH_OPEN] == 1 ? 0 : 1, 0, "a name and an epoch");
    GOOD(rma_put(window, &origin, &other));
    GOOD(rma_flush(window, 1, &call));
    GOOD(rma_progress_poll(engine, NULL, NULL));
    EXPECT(events[RMA_EVENT_PACKET_SENT] > 0 ? 0 : 1, 0, "a packet");
    GOOD(rma_call_waits_for(call, text, sizeof text));
    EXPECT(strstr(text, "rank 1") && strstr(text, "window \"halo\"") ? 0 : 1, 0, "which rank and window");
    memset(text, 'x', sizeof text);
    GOOD(rma_call_waits_for(call, text, 5));
    EXPECT(strlen(text) == 4 && text[5] == 'x' ? 0 : 1, 0, "as much as there is room for");
    GOOD(rma_call_waits_for(call, NULL, 5));
    EXPECT(rma_call_waits_for((rma_call){0}, text, sizeof text), RMA_ERR_ARG, "is not a call");
    /* Of the first version: no byte behind its end is written. */
    info.size = offsetof(rma_window_info, id);
    info.id = 77;
    GOOD(rma_window_query(window, &info));
    EXPECT(info.id == 77 && info.ranks == 2 ? 0 : 1, 0, "an earlier structure");
    const char *hints[] = {"accumulate_ordering", "rar", "unknown", "1", NULL};
    GOOD(rma_window_set_hints(window, hints));
    GOOD(rma_window_hint(window, "accumulate_ordering", text, sizeof text, &is_set));
    EXPECT(is_set && strcmp(text, "rar") == 0 ? 0 : 1, 0, "the hint");
    GOOD(rma_window_hint(window, "unknown", text, sizeof text, &is_set));
    EXPECT(is_set, 0, "no hint");
    EXPECT(rma_window_hint(window, NULL, text, sizeof text, &is_set), RMA_ERR_ARG, "key is null");
}

static void fast_paths(void)
{
    rma_window window;
    rma_call call;
    const rma_path *path;
    uint64_t value = 7, found = 0, next = 9;
    rma_window_spec spec = {.size = sizeof spec, .len = 64, .unit = 8};
    rma_counter counters[100];
    rma_elements elements = {.size = sizeof elements};
    size_t count;
    GOOD(create(good_channel, good_host));
    GOOD(rma_engine_promise_one_caller(engine));
    GOOD(open_window(1, spec, &window));
    EXPECT(rma_window_path((rma_window){1}, &path), RMA_ERR_ARG, "is not a window");
    EXPECT(rma_window_path(window, NULL), RMA_ERR_ARG, "path is null");
    GOOD(rma_window_path(window, &path));
    EXPECT(rma_path_put(path, &value, sizeof value, 0, 0), RMA_AGAIN, "no epoch");
    if (rma_path_lock(path, RMA_LOCK_EXCLUSIVE, 0) == RMA_AGAIN) {
        GOOD(rma_lock(window, RMA_LOCK_EXCLUSIVE, 0, 0, &call));
        GOOD(finish(call));
    }
    EXPECT(rma_path_lock(path, 3, 0), RMA_AGAIN, "no kind of lock");
    GOOD(rma_path_put(path, &value, sizeof value, 0, 3));
    GOOD(rma_path_get(path, &found, sizeof found, 0, 3));
    EXPECT(found == 7 ? 0 : 1, 0, "what was put");
    GOOD(rma_path_accumulate(path, &value, 1, RMA_UINT64, RMA_SUM, 0, 3));
    GOOD(rma_path_fetch_and_op(path, &value, &found, RMA_UINT64, RMA_SUM, 0, 3));
    EXPECT(found == 14 ? 0 : 1, 0, "what was added up");
    EXPECT(rma_path_fetch_and_op(path, NULL, &found, RMA_UINT64, RMA_SUM, 0, 3), RMA_AGAIN, "no origin");
    GOOD(rma_path_get(path, &found, sizeof found, 0, 3));
    GOOD(rma_path_compare_and_swap(path, &next, &found, &value, RMA_UINT64, 0, 3));
    uint64_t two[2] = {1, 2};
    GOOD(rma_path_accumulate(path, two, 2, RMA_UINT64, RMA_SUM, 0, 3));
    GOOD(rma_path_get(path, two, sizeof two, 0, 3));
    EXPECT(value == 21 && two[0] == 10 && two[1] == 2 ? 0 : 1, 0, "what was swapped and added to");
    EXPECT(rma_path_put(path, &value, sizeof value, 0, 8), RMA_AGAIN, "behind the end");
    EXPECT(rma_path_put(path, &value, sizeof value, 1, 0), RMA_AGAIN, "no such rank");
    EXPECT(rma_path_put(path, &value, sizeof value, RMA_RANK_NULL, 0), RMA_AGAIN, "no rank");
    EXPECT(rma_path_accumulate(path, two, SIZE_MAX, RMA_UINT64, RMA_SUM, 0, 0), RMA_AGAIN, "more than there can be");
    EXPECT(rma_path_accumulate(path, two, 1, RMA_UINT64, 99, 0, 0), RMA_AGAIN, "no operation");
    EXPECT(rma_path_compare_and_swap(path, two, two, &found, RMA_DOUBLE_INT, 0, 0), RMA_AGAIN, "no words");
    int flushed = rma_path_flush(path, 0), all = rma_path_flush_all(path), synchronized = rma_path_sync(path);
    EXPECT(flushed <= 0 && all <= 0 && synchronized <= 0 ? 0 : 1, 0, "done or not");
    if (rma_path_unlock(path, 0) == RMA_AGAIN) {
        GOOD(rma_unlock(window, 0, &call));
        GOOD(finish(call));
    }
    EXPECT(rma_path_get(path, &found, sizeof found, 0, 3), RMA_AGAIN, "the epoch is over");
    free_window(window);

    GOOD(rma_engine_keep_statistics(engine));
    GOOD(open_window(1, spec, &window));
    GOOD(rma_engine_counters(engine, NULL, 0, &count));
    EXPECT(count > 20 && count < 100 ? 0 : 1, 0, "so many counters");
    EXPECT(rma_window_counters(window, NULL, 1, &count), RMA_ERR_ARG, "counters is null");
    GOOD(rma_lock(window, RMA_LOCK_EXCLUSIVE, 0, 0, &call));
    GOOD(finish(call));
    rma_buffer buffer = {two, 2, RMA_UINT64};
    rma_target target = {0, 0, 2, RMA_UINT64};
    GOOD(rma_put(window, &buffer, &target));
    GOOD(rma_unlock(window, 0, &call));
    GOOD(finish(call));
    counters[1].name = "as it was";
    GOOD(rma_engine_counters(engine, counters, 1, NULL));
    EXPECT(strcmp(counters[1].name, "as it was") == 0 && strcmp(counters[0].name, "packets_sent") == 0 ? 0 : 1, 0, "as much as there is room for");
    GOOD(rma_window_counters(window, counters, 100, &count));
    uint64_t puts = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(counters[i].name, "mapped_puts") == 0 && counters[i].text[0] != 0)
            puts = counters[i].value;
    EXPECT(puts == 1 ? 0 : 1, 0, "one put");
    GOOD(rma_window_elements(window, &elements));
    GOOD(rma_engine_elements(engine, &elements));
    EXPECT((int)elements.ops, 0, "nothing is under way");
    free_window(window);
    GOOD(rma_engine_destroy(engine));
}

int main(void)
{
    if (rma_version() != RMA_VERSION)
        return 2;
    options();
    handles();
    tables();
    segments();
    control_words();
    told();
    fast_paths();
    return line_failed;
}
