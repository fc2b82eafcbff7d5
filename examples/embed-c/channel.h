/* The toy's transport: a mesh of sockets between processes, one for each lane of each pair. */
#ifndef TOY_CHANNEL_H
#define TOY_CHANNEL_H

#include "rma.h"

enum { TOY_LANES = 2 };

typedef struct toy_channel toy_channel;

extern const rma_channel_table toy_channel_table;

/* A mesh between count processes. Row me of links is for toy_channel_new: a descriptor for each peer and lane. */
int toy_mesh(uint32_t count, uint32_t lanes, int *links);
/* The end of process me, with its row of the mesh, whose descriptors it owns, or none; null when the system refuses. */
toy_channel *toy_channel_new(uint32_t me, uint32_t count, const int *links);

/* Without a mesh: sockets for one direction each, when there are some. */
void toy_channel_read_from(toy_channel *, uint32_t peer, int lane, int fd);
void toy_channel_write_to(toy_channel *, uint32_t peer, int lane, int fd);
/* Whether there is one, or the peer is lost. */
int toy_channel_is_read_from(const toy_channel *, uint32_t peer, int lane);
int toy_channel_is_written_to(const toy_channel *, uint32_t peer, int lane);
/* A further descriptor that wakes the engine when it is readable. */
void toy_channel_watch(toy_channel *, int fd);
void toy_channel_forget(toy_channel *, int fd);

#endif
