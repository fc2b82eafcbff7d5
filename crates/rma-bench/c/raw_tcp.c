/* Limits of TCP over loopback between two processes that poll busily: a message and its answer by size of the message, and
 * a stream. */

#define _GNU_SOURCE
#include "raw.h"

#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A message of the stream, and how many of them one answer ends. */
#define STREAM_MESSAGE (4 * MIB)
#define STREAM_MESSAGES 16
#define ANSWER sizeof(uint64_t)

struct wire {
    int listener;
    int socket;
    struct sockaddr_in address;
    unsigned char *buffer;
    size_t bytes;  /* of a message */
    long messages; /* before an answer */
};

static void send_all(int socket, const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(socket, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        } else if (errno != EAGAIN && errno != EINTR) {
            raw_fail("send");
        }
    }
}

/* False when the other side has closed the connection. */
static int receive_all(int socket, unsigned char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t got = recv(socket, bytes, length, MSG_DONTWAIT);

        if (got == 0)
            return 0;
        if (got > 0) {
            bytes += got;
            length -= (size_t)got;
        } else if (errno != EAGAIN && errno != EINTR) {
            raw_fail("recv");
        }
    }
    return 1;
}

static void without_delay(int socket)
{
    int yes = 1;

    if (setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0)
        raw_fail("setsockopt");
}

static void answer(void *context)
{
    struct wire *wire = context;

    wire->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (wire->socket < 0 || connect(wire->socket, (struct sockaddr *)&wire->address, sizeof wire->address) != 0)
        raw_fail("connect");
    without_delay(wire->socket);
    for (;;) {
        for (long i = 0; i < wire->messages; i++)
            if (!receive_all(wire->socket, wire->buffer, wire->bytes))
                return;
        send_all(wire->socket, wire->buffer, ANSWER);
    }
}

static void ask(void *context, long count)
{
    struct wire *wire = context;
    unsigned char got[ANSWER];

    for (long i = 0; i < count; i++) {
        for (long k = 0; k < wire->messages; k++)
            send_all(wire->socket, wire->buffer, wire->bytes);
        if (!receive_all(wire->socket, got, sizeof got))
            raw_fail("the other side is gone");
    }
}

static void measure(const char *name, size_t bytes, long messages)
{
    struct wire wire = { .bytes = bytes, .messages = messages, .buffer = need_memory(bytes),
                         .address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } } };
    socklen_t length = sizeof wire.address;
    struct result result;

    memset(wire.buffer, 1, bytes);
    wire.listener = socket(AF_INET, SOCK_STREAM, 0);
    if (wire.listener < 0 || bind(wire.listener, (struct sockaddr *)&wire.address, length) != 0
        || listen(wire.listener, 1) != 0
        || getsockname(wire.listener, (struct sockaddr *)&wire.address, &length) != 0)
        raw_fail("a listening socket");
    raw_fork(answer, &wire);
    wire.socket = accept(wire.listener, NULL, NULL);
    if (wire.socket < 0)
        raw_fail("accept");
    without_delay(wire.socket);
    result = measure_here(name, bytes, ask, &wire);
    close(wire.socket);
    close(wire.listener);
    raw_join();
    free(wire.buffer);
    result.ranks = 2;
    result.operations = messages;
    print_result(&result);
}

void raw_tcp(void)
{
    for (const size_t *size = transfer_sizes(); *size; size++)
        measure("raw-tcp", *size, 1);
    measure("raw-tcp-stream", STREAM_MESSAGE, STREAM_MESSAGES);
}
