/* The toy's transport: packets over sequenced-packet sockets, one for each lane of each pair of processes.
 *
 * Messages on a socket: P and a packet; H, the length of a body and a head; B and a piece of that body; G, goodbye. A lane has
 * one message of its own to send, and behind it the rest of one body: that is all the room there is (C3, C8). Clauses of the
 * contract stand where they are kept. */
#include "channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_PACKET = 1024, PIECE = 8192, MESSAGE = 1 + 8 + PIECE, ROUNDS = 64 };

typedef struct lane {
    int fd;              /* read from; -1: none, or closed */
    int out_fd;          /* written to; the same when the lane has one socket for both directions */
    int wants_out;       /* registered for room */
    int is_starved;      /* RMA_ROOM_FULL was answered */
    int is_broken;       /* the other end has no reader: 1, and 2 from the next poll on */
    int has_ended;       /* everything was read */
    int said_goodbye, heard_goodbye;
    size_t out_len;      /* message to send */
    rma_area *body;      /* and the body behind it */
    uint64_t token;
    int has_sent;        /* the body has left, which is not reported yet */
    rma_area *place;     /* where the body that arrives goes */
    unsigned char out[MESSAGE];
} lane;

typedef struct connection {
    int is_met, is_lost;
    lane lanes[TOY_LANES];
} connection;

struct toy_channel {
    uint32_t me, count;
    int epoll;
    unsigned turn;
    lane *reserved;
    size_t reserved_len;
    connection links[];
};

int toy_mesh(uint32_t count, uint32_t lanes, int *links)
{
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t b = a; b < count; b++) {
            for (uint32_t l = 0; l < lanes; l++) {
                int pair[2] = {-1, -1};
                if (a != b && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
                    return -1;
                links[(a * count + b) * lanes + l] = pair[0];
                links[(b * count + a) * lanes + l] = pair[1];
            }
        }
    }
    return 0;
}

static void watch(toy_channel *ch, lane *at, int fd, int how)
{
    uint32_t in = fd == at->fd ? EPOLLIN : 0, out = fd == at->out_fd && at->wants_out ? EPOLLOUT : 0;
    struct epoll_event event = {.events = in | out};
    epoll_ctl(ch->epoll, how, fd, &event);
}

toy_channel *toy_channel_new(uint32_t me, uint32_t count, const int *links)
{
    toy_channel *ch = calloc(1, sizeof *ch + count * sizeof ch->links[0]);
    if (!ch)
        return NULL;
    ch->me = me;
    ch->count = count;
    ch->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (ch->epoll < 0) {
        free(ch);
        return NULL;
    }
    for (uint32_t peer = 0; peer < count; peer++) {
        for (int l = 0; l < TOY_LANES; l++) {
            lane *at = &ch->links[peer].lanes[l];
            at->fd = at->out_fd = links ? links[peer * TOY_LANES + l] : -1;
            if (at->fd >= 0)
                watch(ch, at, at->fd, EPOLL_CTL_ADD);
        }
    }
    return ch;
}

void toy_channel_read_from(toy_channel *ch, uint32_t peer, int l, int fd)
{
    lane *at = &ch->links[peer].lanes[l];
    at->fd = fd;
    watch(ch, at, fd, EPOLL_CTL_ADD);
}

void toy_channel_write_to(toy_channel *ch, uint32_t peer, int l, int fd)
{
    lane *at = &ch->links[peer].lanes[l];
    at->out_fd = fd;
    watch(ch, at, fd, EPOLL_CTL_ADD);
}

int toy_channel_is_read_from(const toy_channel *ch, uint32_t peer, int l)
{
    return ch->links[peer].is_lost || ch->links[peer].lanes[l].fd >= 0;
}

int toy_channel_is_written_to(const toy_channel *ch, uint32_t peer, int l)
{
    return ch->links[peer].is_lost || ch->links[peer].lanes[l].out_fd >= 0;
}

static int has_room(const lane *at)
{
    return at->out_len == 0 && !at->body && !at->has_sent;
}

static int has_any(toy_channel *ch)
{
    struct epoll_event event;
    return epoll_wait(ch->epoll, &event, 1, 0) > 0;
}

/* No reader: what is sent goes nowhere. The end of the other direction tells why. */
static void give_up(toy_channel *ch, lane *at)
{
    at->is_broken = 1;
    if (at->out_fd != at->fd)
        epoll_ctl(ch->epoll, EPOLL_CTL_DEL, at->out_fd, NULL);
}

/* Sends what there is room for in the socket; answers whether anything left. */
static int flush(toy_channel *ch, lane *at)
{
    int moved = 0;
    while (at->out_fd >= 0 && (at->out_len > 0 || at->body)) {
        if (at->out_len == 0) {
            /* The next piece. C4: the body is read here and nowhere else. */
            at->out[0] = 'B';
            size_t len = 0, piece;
            void *bytes;
            while (len < PIECE && (bytes = at->body->peek(at->body, PIECE - len, &piece)) != NULL) {
                memcpy(at->out + 1 + len, bytes, piece);
                at->body->advance(at->body, piece);
                len += piece;
            }
            at->out_len = 1 + len;
        }
        if (!at->is_broken && send(at->out_fd, at->out, at->out_len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)
                break;
            give_up(ch, at);
        }
        moved = 1;
        at->out_len = 0;
        if (at->body && (at->is_broken || at->body->remaining(at->body) == 0)) {
            at->body = NULL;
            at->has_sent = 1;
        }
    }
    int wants_out = at->out_len > 0;
    int is_watched = at->out_fd >= 0 && !at->is_broken && !(at->has_ended && at->out_fd == at->fd);
    if (is_watched && wants_out != at->wants_out) {
        at->wants_out = wants_out;
        watch(ch, at, at->out_fd, EPOLL_CTL_MOD);
    }
    return moved;
}

/* Ends all traffic with a peer that the engine has lost. */
static void drop(toy_channel *ch, uint32_t peer)
{
    ch->links[peer].is_lost = 1;
    for (int l = 0; l < TOY_LANES; l++) {
        lane *at = &ch->links[peer].lanes[l];
        if (at->out_fd >= 0 && at->out_fd != at->fd)
            close(at->out_fd);
        if (at->fd >= 0)
            close(at->fd);
        memset(at, 0, offsetof(lane, out));
        at->fd = at->out_fd = -1;
    }
}

static int room(toy_channel *ch, uint32_t peer, int l)
{
    ch->reserved = NULL; /* C2 */
    if (peer >= ch->count || peer == ch->me)
        return RMA_FAILED_UNREACHABLE;
    if (ch->links[peer].is_lost)
        return RMA_FAILED_DEAD;
    ch->links[peer].is_met = 1;
    lane *at = &ch->links[peer].lanes[l];
    at->is_starved |= !has_room(at);
    return has_room(at) ? RMA_ROOM_GRANTED : RMA_ROOM_FULL;
}

static int toy_reserve(void *self, uint32_t peer, int l, size_t len, void **memory)
{
    toy_channel *ch = self;
    int answer = room(ch, peer, l);
    if (answer == RMA_ROOM_GRANTED) {
        ch->reserved = &ch->links[peer].lanes[l];
        ch->reserved_len = len;
        *memory = ch->reserved->out + 1;
    }
    return answer;
}

static void toy_commit(void *self)
{
    toy_channel *ch = self;
    ch->reserved->out[0] = 'P';
    ch->reserved->out_len = 1 + ch->reserved_len;
    flush(ch, ch->reserved);
    ch->reserved = NULL;
}

static int toy_send_bulk(void *self, uint32_t peer, int l, const void *head, size_t len, rma_area *body, uint64_t token)
{
    toy_channel *ch = self;
    int answer = room(ch, peer, l);
    if (answer != RMA_ROOM_GRANTED)
        return answer;
    lane *at = &ch->links[peer].lanes[l];
    uint64_t body_len = body->remaining(body);
    at->out[0] = 'H';
    memcpy(at->out + 1, &body_len, 8);
    memcpy(at->out + 9, head, len);
    at->out_len = 9 + len;
    at->body = body;
    at->token = token;
    flush(ch, at);
    return answer;
}

/* Stores a piece of a body; answers whether it was one. */
static int store(lane *at, rma_sink *sink, uint32_t from, int l, const unsigned char *bytes, size_t len)
{
    if (!at->place || len > at->place->remaining(at->place))
        return 0;
    while (len > 0) {
        size_t piece;
        void *to = at->place->peek(at->place, len, &piece);
        if (to)
            memcpy(to, bytes, piece);
        else
            piece = len; /* the bytes are not wanted */
        at->place->advance(at->place, piece);
        bytes += piece;
        len -= piece;
    }
    if (at->place->remaining(at->place) > 0)
        return 1;
    at->place = NULL;
    return sink->bulk_received(sink, from, l) == RMA_ACCEPTED;
}

/* Hands over a message; answers whether it was one. C1: in the order of the socket. */
static int handle(toy_channel *ch, rma_sink *sink, uint32_t from, int l, const unsigned char *in, size_t len)
{
    lane *at = &ch->links[from].lanes[l];
    uint64_t body_len;
    ch->links[from].is_met |= in[0] != 'G';
    switch (in[0]) {
    case 'P':
        return sink->packet(sink, from, l, in + 1, len - 1) == RMA_ACCEPTED;
    case 'H':
        if (len < 10)
            return 0;
        memcpy(&body_len, in + 1, 8);
        return sink->bulk(sink, from, l, in + 9, len - 9, body_len, &at->place) == RMA_ACCEPTED;
    case 'B':
        return store(at, sink, from, l, in + 1, len - 1);
    case 'G':
        at->heard_goodbye = 1;
        return 1;
    default:
        return 0;
    }
}

/* Reads one message of a lane; answers whether anything moved. C5: a packet only while the sink wants one. */
static int receive(toy_channel *ch, rma_sink *sink, uint32_t from, int l)
{
    unsigned char in[MESSAGE];
    lane *at = &ch->links[from].lanes[l];
    if (at->fd < 0 || at->has_ended || (!at->place && !sink->wants(sink)))
        return 0;
    ssize_t len;
    do /* a reset is told once, before what was sent earlier */
        len = recv(at->fd, in, sizeof in, MSG_DONTWAIT);
    while (len < 0 && (errno == ECONNRESET || errno == EINTR));
    if (len < 0)
        return 0;
    if (len == 0) {
        at->has_ended = 1;
        epoll_ctl(ch->epoll, EPOLL_CTL_DEL, at->fd, NULL);
    } else if (!handle(ch, sink, from, l, in, (size_t)len)) {
        sink->failed(sink, from, RMA_FAILED_PROTOCOL, "the process sent what no process of this toy sends");
        drop(ch, from);
    }
    return 1;
}

/* Whether the other end of a socket that is only written to is gone. What it sent before waits in a queue by then, and is found
 * before the next poll. */
static int look(toy_channel *ch, lane *at)
{
    char byte;
    if (at->is_broken == 1 && at->fd < 0) {
        at->is_broken = 2;
        return 1;
    }
    if (at->is_broken || at->out_fd < 0 || at->out_fd == at->fd)
        return 0;
    ssize_t len = recv(at->out_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    give_up(ch, at);
    return 1;
}

static int has_ended(const lane *at)
{
    return at->has_ended || (at->fd < 0 && at->is_broken == 2);
}

/* C7: a peer that ends without a goodbye is dead, once everything that it sent was handed over. */
static int bury(toy_channel *ch, rma_sink *sink, uint32_t peer)
{
    lane *lanes = ch->links[peer].lanes;
    int is_over = has_ended(&lanes[0]) && has_ended(&lanes[1]);
    if (ch->links[peer].is_lost || !is_over || (lanes[0].heard_goodbye && lanes[1].heard_goodbye))
        return 0;
    sink->failed(sink, peer, RMA_FAILED_DEAD, "the process ended without a goodbye");
    drop(ch, peer);
    return 1;
}

static int toy_poll(void *self, rma_sink *sink)
{
    toy_channel *ch = self;
    unsigned lanes = ch->count * TOY_LANES, first = ch->turn++;
    int moved = 0, any = 1;
    ch->reserved = NULL;
    for (unsigned i = 0; i < lanes; i++) {
        lane *at = &ch->links[i / TOY_LANES].lanes[i % TOY_LANES];
        moved |= look(ch, at) | flush(ch, at);
        if (at->has_sent) {
            at->has_sent = 0;
            sink->bulk_sent(sink, at->token);
        }
        if (at->is_starved && has_room(at)) {
            at->is_starved = 0;
            sink->writable(sink, i / TOY_LANES, (int)(i % TOY_LANES));
        }
    }
    for (int round = 0; any && round < ROUNDS; round++) {
        any = 0;
        for (unsigned i = 0; i < lanes; i++) {
            unsigned at = (first + i) % lanes;
            any |= receive(ch, sink, at / TOY_LANES, (int)(at % TOY_LANES));
        }
        moved |= any;
    }
    for (uint32_t peer = 0; peer < ch->count; peer++)
        moved |= bury(ch, sink, peer);
    return (moved ? RMA_POLL_MOVED : 0) | ((any || !sink->wants(sink)) && has_any(ch) ? RMA_POLL_MORE : 0);
}

/* C6: the sockets are level-triggered below the descriptor that the engine waits for. */
static int toy_arm(void *self)
{
    toy_channel *ch = self;
    for (unsigned i = 0; i < ch->count * TOY_LANES; i++) {
        lane *at = &ch->links[i / TOY_LANES].lanes[i % TOY_LANES];
        if (at->has_sent || (at->is_starved && has_room(at)) || (at->is_broken && at->out_len > 0) ||
            (at->is_broken == 1 && at->fd < 0))
            return RMA_ARMED_BUSY;
    }
    return has_any(ch) ? RMA_ARMED_BUSY : RMA_ARMED_SLEEP;
}

void toy_channel_watch(toy_channel *ch, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(ch->epoll, EPOLL_CTL_ADD, fd, &event);
}

void toy_channel_forget(toy_channel *ch, int fd)
{
    epoll_ctl(ch->epoll, EPOLL_CTL_DEL, fd, NULL);
}

static int toy_descriptor(void *self)
{
    return ((toy_channel *)self)->epoll;
}

static int toy_close(void *self)
{
    toy_channel *ch = self;
    int is_done = 1;
    ch->reserved = NULL;
    for (unsigned i = 0; i < ch->count * TOY_LANES; i++) {
        lane *at = &ch->links[i / TOY_LANES].lanes[i % TOY_LANES];
        if (at->out_fd >= 0 && has_room(at) && !at->said_goodbye) {
            at->said_goodbye = 1;
            at->out[0] = 'G';
            at->out_len = 1;
            flush(ch, at);
        }
        is_done &= at->out_fd < 0 || (has_room(at) && at->said_goodbye);
    }
    return is_done ? RMA_CLOSE_DONE : RMA_CLOSE_PENDING;
}

static void toy_usage(void *self, rma_usage *usage)
{
    toy_channel *ch = self;
    for (uint32_t peer = 0; peer < ch->count; peer++) {
        if (!ch->links[peer].is_met || ch->links[peer].is_lost)
            continue;
        usage->peers++;
        usage->limit_bytes += TOY_LANES * MESSAGE;
        for (int l = 0; l < TOY_LANES; l++)
            usage->bytes += ch->links[peer].lanes[l].out_len;
    }
}

static void toy_destroy(void *self)
{
    toy_channel *ch = self;
    for (uint32_t peer = 0; peer < ch->count; peer++)
        drop(ch, peer);
    close(ch->epoll);
    free(ch);
}

const rma_channel_table toy_channel_table = {
    .size = sizeof(rma_channel_table),
    .name = "toy",
    .max_packet = MAX_PACKET,
    .bulk_from = 512,
    .descriptor = toy_descriptor,
    .reserve = toy_reserve,
    .commit = toy_commit,
    .send_bulk = toy_send_bulk,
    .poll = toy_poll,
    .arm = toy_arm,
    .close = toy_close,
    .usage = toy_usage,
    .destroy = toy_destroy,
};
