/* A channel for jobs as a shared object: the toy's transport, over sockets that processes of one node connect at first contact.
 *
 *     cc -shared -fPIC -I include -I ../embed-c plugin.c ../embed-c/channel.c -o libtoy.so
 *     rmarun -n 4 -x RMA_CHANNEL_PLUGIN=$PWD/libtoy.so -x RMA_CHANNEL=x_toy ./prog
 *
 * A socket carries one lane in one direction. The side that is connected to connects back, so each side sees when the other ends. */
#include "channel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { STRANGERS = 64 };

/* The first message on a socket. */
typedef struct hello {
    unsigned char secret[32];
    uint32_t from;
    uint32_t lane;
} hello;

typedef struct plugin {
    const rma_opening *opening;
    toy_channel *toy;
    int listener;
    /* Connected, and no hello yet. */
    int strangers;
    int stranger[STRANGERS];
} plugin;

/* An address of the abstract name space: gone with its last descriptor. */
static socklen_t address(const char *name, struct sockaddr_un *to)
{
    memset(to, 0, sizeof *to);
    to->sun_family = AF_UNIX;
    size_t len = strnlen(name, sizeof to->sun_path - 2);
    memcpy(to->sun_path + 1, name, len);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

static int sequenced(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Connects to a peer, unless that was done; answers like reserve. */
static int meet(plugin *self, uint32_t peer)
{
    const rma_opening *opening = self->opening;
    if (peer >= opening->processes || peer == opening->me)
        return RMA_FAILED_UNREACHABLE;
    for (int lane = 0; lane < TOY_LANES; lane++) {
        char name[200];
        struct sockaddr_un at;
        hello hello = {.from = opening->me, .lane = (uint32_t)lane};
        if (toy_channel_is_written_to(self->toy, peer, lane))
            continue;
        if (opening->find(opening, peer, name, sizeof name) != RMA_SUCCESS)
            return RMA_FAILED_UNREACHABLE;
        int fd = sequenced();
        memcpy(hello.secret, opening->secret, sizeof hello.secret);
        /* Does not wait: the other's queue is longer than a job that this toy is for. */
        if (fd < 0 || connect(fd, (struct sockaddr *)&at, address(name, &at)) != 0 ||
            send(fd, &hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello) {
            close(fd);
            return RMA_FAILED_DEAD;
        }
        toy_channel_write_to(self->toy, peer, lane, fd);
    }
    return RMA_ROOM_GRANTED;
}

/* Reads the hello of a socket, and connects back; answers whether the socket waits no longer. */
static int greet(plugin *self, int fd)
{
    hello hello;
    ssize_t len = recv(fd, &hello, sizeof hello, 0);
    if (len < 0 && errno == EAGAIN)
        return 0;
    toy_channel_forget(self->toy, fd);
    if (len != (ssize_t)sizeof hello || memcmp(hello.secret, self->opening->secret, sizeof hello.secret) != 0 ||
        hello.from >= self->opening->processes || hello.lane >= TOY_LANES ||
        toy_channel_is_read_from(self->toy, hello.from, (int)hello.lane)) {
        close(fd);
        return 1;
    }
    toy_channel_read_from(self->toy, hello.from, (int)hello.lane, fd);
    meet(self, hello.from);
    return 1;
}

/* Takes what has connected; answers whether anything has. */
static int take(plugin *self)
{
    int any = 0;
    for (int i = 0; i < self->strangers; i++) {
        if (greet(self, self->stranger[i])) {
            self->stranger[i--] = self->stranger[--self->strangers];
            any = 1;
        }
    }
    while (self->strangers < STRANGERS) {
        int fd = accept4(self->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            break;
        any = 1;
        toy_channel_watch(self->toy, fd);
        if (!greet(self, fd))
            self->stranger[self->strangers++] = fd;
    }
    return any;
}

static int plugin_descriptor(void *self)
{
    return toy_channel_table.descriptor(((plugin *)self)->toy);
}

static int plugin_connect(void *self, uint32_t peer)
{
    return meet(self, peer);
}

static int plugin_reserve(void *self, uint32_t peer, int lane, size_t len, void **memory)
{
    int answer = meet(self, peer);
    return answer != RMA_ROOM_GRANTED ? answer
                                      : toy_channel_table.reserve(((plugin *)self)->toy, peer, lane, len, memory);
}

static void plugin_commit(void *self)
{
    toy_channel_table.commit(((plugin *)self)->toy);
}

static int plugin_send_bulk(void *self, uint32_t peer, int lane, const void *head, size_t len, rma_area *body,
                            uint64_t token)
{
    toy_channel *toy = ((plugin *)self)->toy;
    int answer = meet(self, peer);
    return answer != RMA_ROOM_GRANTED ? answer : toy_channel_table.send_bulk(toy, peer, lane, head, len, body, token);
}

static int plugin_poll(void *self, rma_sink *sink)
{
    int any = take(self);
    return toy_channel_table.poll(((plugin *)self)->toy, sink) | (any ? RMA_POLL_MOVED : RMA_POLL_IDLE);
}

static int plugin_arm(void *self)
{
    return toy_channel_table.arm(((plugin *)self)->toy);
}

static int plugin_close(void *self)
{
    take(self); /* a late peer hears the goodbye too */
    return toy_channel_table.close(((plugin *)self)->toy);
}

static void plugin_usage(void *self, rma_usage *usage)
{
    toy_channel_table.usage(((plugin *)self)->toy, usage);
}

static void plugin_destroy(void *channel)
{
    plugin *self = channel;
    toy_channel_table.destroy(self->toy);
    while (self->strangers > 0)
        close(self->stranger[--self->strangers]);
    close(self->listener);
    free(self);
}

static int probe(char *text, size_t len)
{
    snprintf(text, len, "Unix sockets of the kernel");
    return RMA_SUCCESS;
}

static int open_channel(const rma_opening *opening, void **channel, char *why, size_t len)
{
    char name[80];
    struct sockaddr_un at;
    plugin *self = calloc(1, sizeof *self);
    if (!self)
        return RMA_ERR_NO_MEM;
    self->opening = opening;
    self->listener = sequenced();
    self->toy = toy_channel_new(opening->me, opening->processes, NULL);
    snprintf(name, sizeof name, "toy-%.40s-%d-%u-%p", opening->job, (int)getpid(), opening->me, (void *)self);
    if (self->listener < 0 || !self->toy ||
        bind(self->listener, (struct sockaddr *)&at, address(name, &at)) != 0 ||
        listen(self->listener, 4096) != 0 || opening->publish(opening, name) != RMA_SUCCESS) {
        snprintf(why, len, "no socket %s: %m", name);
        if (self->toy)
            toy_channel_table.destroy(self->toy);
        if (self->listener >= 0)
            close(self->listener);
        free(self);
        return RMA_ERR_OTHER;
    }
    toy_channel_watch(self->toy, self->listener);
    *channel = self;
    return RMA_SUCCESS;
}

static const rma_channel_table table = {
    .size = sizeof(rma_channel_table),
    .name = "x_toy",
    .max_packet = 1024,
    .bulk_from = 512,
    .descriptor = plugin_descriptor,
    .connect = plugin_connect,
    .reserve = plugin_reserve,
    .commit = plugin_commit,
    .send_bulk = plugin_send_bulk,
    .poll = plugin_poll,
    .arm = plugin_arm,
    .close = plugin_close,
    .usage = plugin_usage,
    .destroy = plugin_destroy,
};

const rma_plugin rma_channel_plugin = {
    .size = sizeof(rma_plugin),
    .version = RMA_VERSION,
    .node_cost_ns = 20000,
    .text = "the toy's transport, over Unix sockets",
    .channel = &table,
    .probe = probe,
    .open = open_channel,
};
