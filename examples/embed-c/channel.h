/* The toy's transport: a mesh of sockets between processes, one for each lane of each pair. */
#ifndef TOY_CHANNEL_H
#define TOY_CHANNEL_H

#include "rma.h"

enum { TOY_LANES = 2 };

typedef struct toy_channel toy_channel;

extern const rma_channel_table toy_channel_table;

/* A mesh between count processes. Row me of links is for toy_channel_new: a descriptor for each peer and lane. */
int toy_mesh(uint32_t count, uint32_t lanes, int *links);
/* The end of process me, with its row of the mesh, whose descriptors it owns; null when the system refuses. */
toy_channel *toy_channel_new(uint32_t me, uint32_t count, const int *links);

#endif
