/* Three processes of a program that has an event loop of its own, and message queues of the system to talk through, use the engine.
 *
 * No call waits: the program's work is a list of steps, and the loop takes as many of them as can be taken whenever something has
 * happened: a tick of its timer, a letter of a collective (../embed-c/host.c), or something for the engine. Each tick draws a ticket
 * from a counter of rank 0 and writes a row of numbers for it into the window of the rank that it belongs to, until none is left.
 *
 * A process has a queue for each lane, which the parent makes and no other program can name; a message says whom it is from. A queue
 * does not tell that its reader has ended, so this transport sees no death. */
#include "../embed-c/channel.h"
#include "../embed-c/host.h"

#include <mqueue.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 3, LANES = 2, DEPTH = 8, PACKET = 1024 };
enum { TICKETS = 30, ROW = 600, LEN = 1 + (TICKETS / RANKS) * ROW, SECONDS = 60 };

typedef struct message {
    uint32_t from;
    char kind; /* P, a packet; H, the head of a body; B, a piece of it */
    uint64_t body_len;
    unsigned char bytes[PACKET];
} message;

#define UNUSED __attribute__((unused))

static mqd_t queues[RANKS][LANES];
static toy_host *host;
static uint32_t me;

static void fail(const char *what)
{
    fprintf(stderr, "rank %u: %s: %s\n", me, what, rma_error_text());
    _exit(1);
}

#define CHECK(call) ((call) == RMA_SUCCESS ? (void)0 : fail(#call))
#define MUST(condition) ((condition) ? (void)0 : fail("not true: " #condition))

/* What goes to a peer, and comes from it, in a lane: there is room for one message, and one body behind it. */
typedef struct lane {
    message out;
    size_t out_len; /* of bytes, and 1; 0: nothing is to be sent */
    rma_area *body, *place;
    uint64_t token;
    int has_sent, is_starved, wants_out;
} lane;

static lane lanes[RANKS][LANES];
static lane *reserved;
static size_t reserved_len;
static int below; /* the queues, for whoever sleeps */

static int flush(uint32_t peer, int l)
{
    lane *at = &lanes[peer][l];
    int moved = 0;
    while (at->out_len > 0 || at->body) {
        if (at->out_len == 0) {
            size_t len = 0, piece;
            void *bytes;
            while (len < PACKET && (bytes = at->body->peek(at->body, PACKET - len, &piece)) != NULL) {
                memcpy(at->out.bytes + len, bytes, piece);
                at->body->advance(at->body, piece);
                len += piece;
            }
            at->out.kind = 'B';
            at->out_len = 1 + len;
        }
        if (mq_send(queues[peer][l], (const char *)&at->out, offsetof(message, bytes) + at->out_len - 1, 0) != 0)
            break;
        moved = 1;
        at->out_len = 0;
        if (at->body && at->body->remaining(at->body) == 0) {
            at->body = NULL;
            at->has_sent = 1;
        }
    }
    if (at->wants_out != (at->out_len > 0)) {
        struct epoll_event event = {.events = at->out_len > 0 ? EPOLLOUT : 0};
        at->wants_out = at->out_len > 0;
        epoll_ctl(below, EPOLL_CTL_MOD, queues[peer][l], &event);
    }
    return moved;
}

#define HAS_ROOM(at) ((at)->out_len == 0 && !(at)->body && !(at)->has_sent)

static int room(uint32_t peer, int l)
{
    reserved = NULL;
    if (peer >= RANKS || peer == me)
        return RMA_FAILED_UNREACHABLE;
    lanes[peer][l].is_starved |= !HAS_ROOM(&lanes[peer][l]);
    return HAS_ROOM(&lanes[peer][l]) ? RMA_ROOM_GRANTED : RMA_ROOM_FULL;
}

static int reserve(UNUSED void *self, uint32_t peer, int l, size_t len, void **memory)
{
    int answer = room(peer, l);
    if (answer != RMA_ROOM_GRANTED)
        return answer;
    reserved = &lanes[peer][l];
    reserved_len = len;
    *memory = reserved->out.bytes;
    return answer;
}

static void commit(UNUSED void *self)
{
    size_t index = (size_t)(reserved - &lanes[0][0]);
    reserved->out.kind = 'P';
    reserved->out_len = 1 + reserved_len;
    reserved = NULL;
    flush((uint32_t)(index / LANES), (int)(index % LANES));
}

static int send_bulk(UNUSED void *self, uint32_t peer, int l, const void *head, size_t len, rma_area *body, uint64_t token)
{
    int answer = room(peer, l);
    lane *at = &lanes[peer % RANKS][l];
    if (answer != RMA_ROOM_GRANTED)
        return answer;
    at->out.kind = 'H';
    at->out.body_len = body->remaining(body);
    memcpy(at->out.bytes, head, len);
    at->out_len = 1 + len;
    at->body = body;
    at->token = token;
    flush(peer, l);
    return answer;
}

static int store(lane *at, rma_sink *sink, uint32_t from, int l, const unsigned char *bytes, size_t len)
{
    if (!at->place || len > at->place->remaining(at->place))
        return RMA_REFUSED;
    while (len > 0) {
        size_t piece;
        void *to = at->place->peek(at->place, len, &piece);
        if (to)
            memcpy(to, bytes, piece);
        piece = to ? piece : len; /* where there is no place, they are not wanted */
        at->place->advance(at->place, piece);
        bytes += piece;
        len -= piece;
    }
    if (at->place->remaining(at->place) > 0)
        return RMA_ACCEPTED;
    at->place = NULL;
    return sink->bulk_received(sink, from, l);
}

static int receive(rma_sink *sink, int l)
{
    message in;
    ssize_t len;
    int answer = RMA_REFUSED;
    if (!sink->wants(sink) || (len = mq_receive(queues[me][l], (char *)&in, sizeof in, NULL)) < 0)
        return 0;
    size_t rest = (size_t)len - offsetof(message, bytes);
    lane *at = &lanes[in.from % RANKS][l];
    if (in.kind == 'P')
        answer = sink->packet(sink, in.from, l, in.bytes, rest);
    else if (in.kind == 'H')
        answer = sink->bulk(sink, in.from, l, in.bytes, rest, in.body_len, &at->place);
    else if (in.kind == 'B')
        answer = store(at, sink, in.from, l, in.bytes, rest);
    if (answer != RMA_ACCEPTED)
        fail("a process has sent what none of this program sends");
    return 1;
}

static int has_any(void)
{
    return epoll_wait(below, &(struct epoll_event){0}, 1, 0) > 0;
}

static int poll_queues(UNUSED void *self, rma_sink *sink)
{
    int moved = 0, any = 1;
    for (uint32_t peer = 0; peer < RANKS; peer++)
        for (int l = 0; l < LANES; l++) {
            lane *at = &lanes[peer][l];
            moved |= flush(peer, l);
            if (at->has_sent) {
                at->has_sent = 0;
                sink->bulk_sent(sink, at->token);
            }
            if (at->is_starved && HAS_ROOM(at)) {
                at->is_starved = 0;
                sink->writable(sink, peer, l);
            }
        }
    for (int round = 0; any && round < DEPTH; round++)
        moved |= any = receive(sink, RMA_LANE_REQUEST) | receive(sink, RMA_LANE_RESPONSE);
    return (moved ? RMA_POLL_MOVED : 0) | (has_any() ? RMA_POLL_MORE : 0);
}

static int arm(UNUSED void *self)
{
    for (lane *at = &lanes[0][0]; at < &lanes[RANKS][0]; at++)
        if (at->has_sent || (at->is_starved && HAS_ROOM(at)))
            return RMA_ARMED_BUSY;
    return has_any() ? RMA_ARMED_BUSY : RMA_ARMED_SLEEP;
}

static int descriptor(UNUSED void *self)
{
    return below;
}

static int close_queues(UNUSED void *self)
{
    reserved = NULL;
    for (lane *at = &lanes[0][0]; at < &lanes[RANKS][0]; at++)
        if (!HAS_ROOM(at))
            return RMA_CLOSE_PENDING;
    return RMA_CLOSE_DONE;
}

static const rma_channel_table channel_table = {
    .size = sizeof(rma_channel_table), .name = "queue", .max_packet = PACKET, .bulk_from = PACKET / 2, .descriptor = descriptor,
    .reserve = reserve, .commit = commit, .send_bulk = send_bulk, .poll = poll_queues, .arm = arm, .close = close_queues,
};

static enum { BEGIN, CREATING, LOCKING, IDLE, DRAWING, WRITING, LEAVING, MEETING, FREEING, CLOSING, OVER } step;
static rma_engine engine;
static rma_creation creation;
static rma_window window;
static rma_call call_under_way;
static uint64_t ticks, ticket, row[ROW];

static int is_done(void)
{
    int done;
    CHECK(rma_call_poll(call_under_way, &done));
    return done;
}

/* A call has begun, and the next step is to look for its end. */
static int begun(int answer, int next)
{
    CHECK(answer);
    return step = next;
}

/* What a rank finds in its memory: all rows, and on rank 0 what is left of the counter. */
static void look(void)
{
    rma_window_info info = {.size = sizeof info};
    CHECK(rma_window_query(window, &info));
    const uint64_t *memory = info.memory;
    MUST(memory[0] == (me == 0 ? TICKETS + RANKS : 0));
    for (uint64_t drawn = me; drawn < TICKETS; drawn += RANKS)
        for (uint64_t i = 0; i < ROW; i++)
            MUST(memory[1 + drawn / RANKS * ROW + i] == 1000 * drawn + i);
}

/* Puts the row of the ticket, or leaves when there was none; 0: there is no room now. */
static int use_ticket(void)
{
    rma_buffer origin = {row, ROW, RMA_UINT64};
    rma_target target = {(uint32_t)(ticket % RANKS), 1 + ticket / RANKS * ROW, ROW, RMA_UINT64};
    if (ticket >= TICKETS)
        return begun(rma_unlock_all(window, &call_under_way), LEAVING);
    for (uint64_t i = 0; i < ROW; i++)
        row[i] = 1000 * ticket + i;
    int answer = rma_put(window, &origin, &target);
    if (answer == RMA_AGAIN)
        return 0;
    CHECK(answer);
    return begun(rma_flush(window, target.rank, &call_under_way), WRITING);
}

/* Takes the next step, if it can be taken; answers whether it could. */
static int advance(void)
{
    static const uint64_t one = 1;
    static int has_ticket;
    rma_group world = {.size = sizeof world, .context = 1, .me = me, .count = RANKS, .stride = 1};
    rma_window_spec spec = {.size = sizeof spec, .flavor = RMA_WINDOW_ALLOCATE, .len = LEN * 8, .unit = 8};
    int answer, closed = 0;
    switch (step) {
    case BEGIN: return begun(rma_window_begin(engine, &world, &spec, &creation), CREATING);
    case CREATING:
        CHECK(rma_creation_poll(creation, &window));
        return window.id != 0 ? begun(rma_lock_all(window, 0, &call_under_way), LOCKING) : 0;
    case LOCKING: return is_done() ? step = IDLE : 0;
    case IDLE:
        if (ticks == 0 || (answer = rma_fetch_and_op(window, &one, &ticket, RMA_UINT64, RMA_SUM, 0, 0)) == RMA_AGAIN)
            return 0;
        CHECK(answer);
        ticks--;
        has_ticket = 0;
        return begun(rma_flush(window, 0, &call_under_way), DRAWING);
    case DRAWING: has_ticket = has_ticket || is_done(); return has_ticket && use_ticket();
    case WRITING: return is_done() ? step = IDLE : 0;
    case LEAVING: return is_done() ? begun(rma_fence(window, RMA_NOSUCCEED, &call_under_way), MEETING) : 0;
    case MEETING:
        if (!is_done())
            return 0;
        look();
        return begun(rma_window_free(window, &call_under_way), FREEING);
    case FREEING: return is_done() ? step = CLOSING : 0;
    case CLOSING: CHECK(rma_engine_close(engine, &closed)); return closed ? (step = OVER, 0) : 0;
    case OVER: break;
    }
    return 0;
}

static void add(int loop, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};
    MUST(epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) == 0);
}

/* The program's event loop: its timer, its letters, and the engine as one more descriptor. */
static void run(int loop, int timer)
{
    while (step != OVER) {
        uint64_t news, fired;
        rma_external_wait wait;
        struct epoll_event event;
        toy_host_pump(host);
        CHECK(rma_progress_poll(engine, &news, NULL));
        while (advance())
            continue;
        CHECK(rma_progress_arm(engine, news, &wait));
        if (wait.id == 0)
            continue;
        int count = step == OVER ? 0 : epoll_wait(loop, &event, 1, -1);
        CHECK(rma_progress_disarm(wait));
        if (count == 1 && event.data.fd == timer && read(timer, &fired, sizeof fired) == sizeof fired)
            ticks += fired;
    }
}

static int rank(const int *letters)
{
    host = toy_host_new(me, RANKS, letters);
    rma_engine_options options = {
        .size = sizeof options, .channel = &channel_table, .host = &toy_host_table, .host_context = host, .me = me};
    struct itimerspec period = {{0, 1000000}, {0, 1000000}};
    int loop = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), of_engine;
    alarm(SECONDS);
    below = epoll_create1(0);
    for (uint32_t peer = 0; peer < RANKS; peer++)
        for (int l = 0; l < LANES; l++) {
            lanes[peer][l].out.from = me;
            add(below, queues[peer][l], peer == me ? EPOLLIN : 0);
        }
    CHECK(rma_engine_create(&options, &engine));
    CHECK(rma_progress_descriptor(engine, &of_engine));
    MUST(timerfd_settime(timer, 0, &period, NULL) == 0);
    add(loop, of_engine, EPOLLIN);
    add(loop, timer, EPOLLIN);
    struct pollfd watched[RANKS];
    for (nfds_t i = toy_host_watch(host, watched); i > 0; i--)
        add(loop, watched[i - 1].fd, EPOLLIN);
    run(loop, timer);
    return rma_engine_destroy(engine);
}

int main(void)
{
    struct mq_attr attributes = {.mq_maxmsg = DEPTH, .mq_msgsize = sizeof(message)};
    static int letters[RANKS * RANKS];
    pid_t children[RANKS];
    int failures = 0;
    for (int i = 0; i < RANKS * LANES; i++) {
        char name[64];
        snprintf(name, sizeof name, "/rma-queue-%ld-%d", (long)getpid(), i);
        queues[i / LANES][i % LANES] = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &attributes);
        if (queues[i / LANES][i % LANES] < 0)
            return perror("the system has no message queues"), 1;
        mq_unlink(name);
    }
    if (toy_mesh(RANKS, 1, letters) != 0)
        return perror("socketpair"), 1;
    for (me = 0; me < RANKS; me++)
        if ((children[me] = fork()) == 0)
            return rank(letters + me * RANKS);
    for (int i = 0; i < RANKS; i++) {
        int status = 1;
        waitpid(children[i], &status, 0);
        failures += status != 0;
    }
    if (failures == 0)
        printf("%d processes have drawn %d tickets; every row is where it should be\n", RANKS, TICKETS);
    return failures != 0;
}
