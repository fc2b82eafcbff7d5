/* The toy's collectives: every member sends what it brings to every other one, and combines what comes.
 *
 * A letter that comes before its collective was begun here waits in a list. Nothing is allocated but letters and calls. */
#include "host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_VALUES = 64 };

/* What a member brings to a collective. */
typedef struct letter {
    uint64_t context, part, number;
    uint32_t from, count;
    uint64_t values[MOST_VALUES];
} letter;

typedef struct waiting {
    struct waiting *next;
    letter letter;
} waiting;

/* A collective under way. */
typedef struct call {
    struct call *next;
    uint64_t request;
    uint32_t members;
    int combine;
    uint32_t missing;
    unsigned char *has_come; /* by process */
    unsigned char *is_member;
    letter result;
} call;

struct toy_host {
    uint32_t me, count;
    uint64_t requests;
    call *calls;
    waiting *early;
    unsigned char *is_dead;
    int links[];
};

toy_host *toy_host_new(uint32_t me, uint32_t count, const int *links)
{
    toy_host *host = calloc(1, sizeof *host + count * sizeof(int));
    unsigned char *is_dead = calloc(count, 1);
    if (!host || !is_dead) {
        free(host);
        free(is_dead);
        return NULL;
    }
    host->me = me;
    host->count = count;
    host->is_dead = is_dead;
    memcpy(host->links, links, count * sizeof(int));
    return host;
}

static uint64_t combined(int combine, uint64_t a, uint64_t b)
{
    switch (combine) {
    case RMA_COMBINE_MIN: return a < b ? a : b;
    case RMA_COMBINE_MAX: return a > b ? a : b;
    case RMA_COMBINE_SUM: return a + b;
    case RMA_COMBINE_BAND: return a & b;
    default: return a | b;
    }
}

static int is_of(const letter *a, const letter *b)
{
    return a->context == b->context && a->part == b->part && a->number == b->number;
}

static void take(call *at, const letter *from)
{
    if (!at->is_member[from->from] || at->has_come[from->from] || from->count != at->result.count)
        return;
    at->has_come[from->from] = 1;
    at->missing--;
    for (uint32_t i = 0; i < from->count; i++)
        at->result.values[i] = combined(at->combine, at->result.values[i], from->values[i]);
}

static void arrive(toy_host *host, const letter *from)
{
    for (call *at = host->calls; at; at = at->next) {
        if (is_of(&at->result, from)) {
            take(at, from);
            return;
        }
    }
    waiting *early = malloc(sizeof *early);
    if (!early)
        abort();
    early->letter = *from;
    early->next = host->early;
    host->early = early;
}

void toy_host_pump(toy_host *host)
{
    letter in;
    for (uint32_t peer = 0; peer < host->count; peer++) {
        while (host->links[peer] >= 0) {
            ssize_t len = recv(host->links[peer], &in, sizeof in, MSG_DONTWAIT);
            if (len == (ssize_t)sizeof in && in.from == peer && in.count <= MOST_VALUES) {
                arrive(host, &in);
            } else if (len < 0 && (errno == EINTR || errno == ECONNRESET)) {
                continue;
            } else if (len < 0) {
                break;
            } else {
                /* The end, or nothing that this toy sends. */
                close(host->links[peer]);
                host->links[peer] = -1;
                host->is_dead[peer] = 1;
            }
        }
    }
}

nfds_t toy_host_watch(const toy_host *host, struct pollfd *descriptors)
{
    nfds_t count = 0;
    for (uint32_t peer = 0; peer < host->count; peer++)
        if (host->links[peer] >= 0)
            descriptors[count++] = (struct pollfd){.fd = host->links[peer], .events = POLLIN};
    return count;
}

static void forget(call *at)
{
    free(at->has_come);
    free(at->is_member);
    free(at);
}

static int begin_reduce(void *self, const rma_collective *name, int combine, const uint64_t *values, size_t count, uint64_t *request)
{
    toy_host *host = self;
    call *at = calloc(1, sizeof *at);
    if (count > MOST_VALUES || !at) {
        free(at);
        return RMA_ERR_NO_MEM;
    }
    at->has_come = calloc(host->count, 1);
    at->is_member = calloc(host->count, 1);
    if (!at->has_come || !at->is_member) {
        forget(at);
        return RMA_ERR_NO_MEM;
    }
    at->combine = combine;
    at->members = name->members;
    at->missing = name->members - 1;
    at->result = (letter){name->context, name->part, name->number, host->me, (uint32_t)count, {0}};
    if (count > 0)
        memcpy(at->result.values, values, count * sizeof *values);
    for (uint32_t rank = 0; rank < name->members; rank++) {
        uint32_t peer = name->peer(name, rank);
        at->is_member[peer] = 1;
        if (peer == host->me)
            at->has_come[peer] = 1;
        else if (host->links[peer] >= 0 && send(host->links[peer], &at->result, sizeof at->result, MSG_NOSIGNAL | MSG_DONTWAIT) < 0
                 && errno != EPIPE && errno != ECONNRESET) {
            forget(at);
            return RMA_ERR_OTHER; /* more collectives under way than a socket holds */
        }
    }
    for (waiting **early = &host->early; *early;) {
        waiting *one = *early;
        if (is_of(&at->result, &one->letter)) {
            take(at, &one->letter);
            *early = one->next;
            free(one);
        } else {
            early = &one->next;
        }
    }
    at->request = *request = ++host->requests;
    at->next = host->calls;
    host->calls = at;
    return RMA_SUCCESS;
}

static int poll_reduce(void *self, uint64_t request, uint64_t *values, size_t count, int *done)
{
    toy_host *host = self;
    toy_host_pump(host);
    call **link = &host->calls;
    while (*link && (*link)->request != request)
        link = &(*link)->next;
    call *at = *link;
    if (!at || count != at->result.count)
        return RMA_ERR_ARG;
    int answer = RMA_SUCCESS;
    for (uint32_t peer = 0; peer < host->count; peer++)
        if (at->is_member[peer] && !at->has_come[peer] && host->is_dead[peer])
            answer = RMA_ERR_PROC_ABORTED;
    if (answer == RMA_SUCCESS && at->missing > 0)
        return RMA_SUCCESS;
    *done = 1;
    if (count > 0)
        memcpy(values, at->result.values, count * sizeof *values);
    *link = at->next;
    forget(at);
    return answer;
}

static void destroy(void *self)
{
    toy_host *host = self;
    for (call *at = host->calls, *next; at; at = next) {
        next = at->next;
        forget(at);
    }
    for (waiting *at = host->early, *next; at; at = next) {
        next = at->next;
        free(at);
    }
    for (uint32_t peer = 0; peer < host->count; peer++)
        if (host->links[peer] >= 0)
            close(host->links[peer]);
    free(host->is_dead);
    free(host);
}

const rma_host_table toy_host_table = {
    .size = sizeof(rma_host_table),
    .begin_reduce = begin_reduce,
    .poll_reduce = poll_reduce,
    .destroy = destroy,
};
