/* The toy's collectives: all that the engine needs of the library around it. For processes with one thread. */
#ifndef TOY_HOST_H
#define TOY_HOST_H

#include "rma.h"
#include <poll.h>

typedef struct toy_host toy_host;

extern const rma_host_table toy_host_table;

/* The collectives of process me, with its row of a mesh of one lane, whose descriptors it owns; null when memory is out. */
toy_host *toy_host_new(uint32_t me, uint32_t count, const int *links);
/* Reads what has come. Part of the toy's progress. */
void toy_host_pump(toy_host *host);
/* The descriptors to sleep on; answers how many, at most one for each process. */
nfds_t toy_host_watch(const toy_host *host, struct pollfd *descriptors);

#endif
