/* rma.h: the engine of MPI one-sided communication, for libraries that bring their own transport and runtime.
 *
 * docs/embedding.md is the guide; this header is the reference. An embedder gives two tables of functions, a channel that
 * moves packets and a host with one collective, and gets an engine: windows and every call of the one-sided chapter of MPI.
 *
 * - No call waits. What takes time answers a handle that is polled, or RMA_AGAIN; rma_progress_poll moves everything.
 * - Every function that answers int answers RMA_SUCCESS, RMA_AGAIN, or a class of error, RMA_ERR_...; after an error
 *   rma_error_text() says what was wrong, on the thread that made the call.
 * - Handles are numbers: one that is stale, foreign or zero is an error, never a crash. Pointers are the caller's promise:
 *   null is an error where something is needed, and everything else is believed.
 * - Any thread may make any call at any time. The functions of the two tables must not call the functions of this header
 *   that are declared with RMA_API (that is an error); those that objects bring with them are made for it.
 * - Structures begin with their size, so that later versions can add to their end: set it with sizeof. What follows "since" was added
 *   behind the first version of a structure.
 */
#ifndef RMA_H
#define RMA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RMA_API extern

/* The version of this interface. The library takes tables of this version and of earlier ones. */
#define RMA_VERSION 1

/* ------------------------------------------------------------------------------------------------------------ answers */

enum {
    RMA_SUCCESS = 0,
    /* There is no room for the operation now: make progress and call again. */
    RMA_AGAIN = -1,
    /* The classes of MPI, with the numbers of its standard ABI. */
    RMA_ERR_BUFFER = 1,
    RMA_ERR_COUNT = 2,
    RMA_ERR_TYPE = 3,
    RMA_ERR_RANK = 6,
    RMA_ERR_REQUEST = 7,
    RMA_ERR_GROUP = 9,
    RMA_ERR_OP = 10,
    RMA_ERR_ARG = 13,
    RMA_ERR_TRUNCATE = 15,
    RMA_ERR_OTHER = 16,
    RMA_ERR_INTERN = 17,
    RMA_ERR_ASSERT = 22,
    RMA_ERR_BASE = 24,
    RMA_ERR_DISP = 26,
    RMA_ERR_LOCKTYPE = 37,
    RMA_ERR_NO_MEM = 39,
    RMA_ERR_RMA_ATTACH = 46,
    RMA_ERR_RMA_RANGE = 48,
    RMA_ERR_RMA_SHARED = 49,
    RMA_ERR_RMA_SYNC = 50,
    RMA_ERR_SIZE = 52,
    RMA_ERR_WIN = 56,
    RMA_ERR_RMA_FLAVOR = 57,
    RMA_ERR_PROC_ABORTED = 58,
    RMA_ERR_PROC_FAILED = 101
};

/* The text of the last error on this thread; valid until the next error on it. Never null. */
RMA_API const char *rma_error_text(void);

/* The version of the library, as RMA_VERSION. */
RMA_API int rma_version(void);

/* ------------------------------------------------------------------------------------------------------------- handles */

typedef struct rma_engine { uint64_t id; } rma_engine;
typedef struct rma_window { uint64_t id; } rma_window;
/* A window being created. */
typedef struct rma_creation { uint64_t id; } rma_creation;
/* A synchronization call, an operation with a request, or the freeing of a window, under way. */
typedef struct rma_call { uint64_t id; } rma_call;
/* A promise to wake; see rma_progress_arm. */
typedef struct rma_external_wait { uint64_t id; } rma_external_wait;
/* A datatype: a basic one (RMA_INT32, ...) or one that was made. */
typedef uint64_t rma_type;

/* ------------------------------------------------------------------------------------------------------------- channel */

enum { RMA_LANE_REQUEST = 0, RMA_LANE_RESPONSE = 1 };
/* Every channel carries packets of at least this many bytes. */
enum { RMA_MIN_PACKET = 192 };
/* Answers to reserve, send_bulk and connect; RMA_FAILED_... are also the kinds of failure. */
enum { RMA_ROOM_GRANTED = 0, RMA_ROOM_FULL = 1, RMA_FAILED_DEAD = 2, RMA_FAILED_PROTOCOL = 3, RMA_FAILED_UNREACHABLE = 4 };
/* What poll answers, or'ed together: something other than packets moved; the budget ran out and packets wait. */
enum { RMA_POLL_IDLE = 0, RMA_POLL_MOVED = 1, RMA_POLL_MORE = 2 };
enum { RMA_ARMED_BUSY = 0, RMA_ARMED_SLEEP = 1 };
enum { RMA_CLOSE_PENDING = 0, RMA_CLOSE_DONE = 1 };
enum { RMA_ACCEPTED = 0, RMA_REFUSED = 1 };

/* Memory in pieces, from a place that moves on: the body of a bulk packet, or where one goes. */
typedef struct rma_area rma_area;
struct rma_area {
    /* Bytes left. */
    uint64_t (*remaining)(const rma_area *);
    /* The next piece, of at most limit bytes; its length is stored. Null when nothing is left, and for a place of bytes
     * that are not wanted: then they are only advanced over. */
    void *(*peek)(const rma_area *, size_t limit, size_t *len);
    /* The next len bytes have been taken, or have come. */
    void (*advance)(rma_area *, size_t len);
};

/* Wakes all threads that sleep in or for the engine, from any thread; for channels without a descriptor, and for hosts. */
typedef struct rma_waker rma_waker;
struct rma_waker {
    void (*wake)(const rma_waker *);
};

/* Where poll hands over what happened. Valid inside poll only. */
typedef struct rma_sink rma_sink;
struct rma_sink {
    size_t size;
    /* Whether another packet may be handed over: ask before each. */
    int (*wants)(const rma_sink *);
    /* A small packet. RMA_REFUSED: the engine has lost that peer; close the connection. */
    int (*packet)(rma_sink *, uint32_t from, int lane, const void *bytes, size_t len);
    /* The head of a bulk packet. RMA_ACCEPTED: place says where its body goes, and is valid until bulk_received or failed. */
    int (*bulk)(rma_sink *, uint32_t from, int lane, const void *head, size_t len, uint64_t body_len, rma_area **place);
    /* That body is in place. RMA_REFUSED when bytes are missing: the engine has lost that peer. */
    int (*bulk_received)(rma_sink *, uint32_t from, int lane);
    /* The channel is done with a body, which is valid no longer. */
    void (*bulk_sent)(rma_sink *, uint64_t token);
    /* There is room again after RMA_ROOM_FULL. */
    void (*writable)(rma_sink *, uint32_t peer, int lane);
    /* The peer is lost. Its bodies and places are valid no longer. */
    void (*failed)(rma_sink *, uint32_t peer, int kind, const char *detail);
};

typedef struct rma_usage {
    size_t peers;
    size_t bytes;
    size_t limit_bytes;
} rma_usage;

/* A transport. The functions are called under the engine's lock, one at a time, and never wait. The contract is that of
 * docs/writing-a-channel.md, clause by clause; those marked "optional" may be null. */
typedef struct rma_channel_table {
    size_t size;
    /* A short lower-case word, at least RMA_MIN_PACKET, and at most max_packet. The word is copied. */
    const char *name;
    size_t max_packet;
    size_t bulk_from;
    /* Optional: a descriptor that becomes readable when poll has something to do, or -1. Asked for once. */
    int (*descriptor)(void *channel);
    /* Optional: what wakes a sleeper, for channels without a descriptor; valid until destroy returns. */
    void (*registered)(void *channel, const rma_waker *waker);
    /* Optional: begins to connect; answers like reserve, and never RMA_ROOM_FULL. */
    int (*connect)(void *channel, uint32_t peer);
    /* Room for a packet of exactly len bytes, to be built at *memory. It is void when anything but commit follows. */
    int (*reserve)(void *channel, uint32_t peer, int lane, size_t len, void **memory);
    /* Sends what was reserved last. */
    void (*commit)(void *channel);
    /* Sends a packet of a head, which is copied, and a body, which is read where it lies until bulk_sent(token). */
    int (*send_bulk)(void *channel, uint32_t peer, int lane, const void *head, size_t len, rma_area *body, uint64_t token);
    /* Moves bytes both ways. Answers RMA_POLL_... */
    int (*poll)(void *channel, rma_sink *sink);
    /* Prepares to sleep. Answers RMA_ARMED_... */
    int (*arm)(void *channel);
    /* Says goodbye to all peers; called until it answers RMA_CLOSE_DONE. */
    int (*close)(void *channel);
    /* Optional: memory in use. */
    void (*usage)(void *channel, rma_usage *usage);
    /* Optional: the end. No body or place is touched when it has returned. */
    void (*destroy)(void *channel);
} rma_channel_table;

/* ------------------------------------------------------------------------------------------------------------- plug-ins */

/* What a channel of a job is opened with, from a plug-in; valid until destroy has returned. */
typedef struct rma_opening rma_opening;
struct rma_opening {
    size_t size;
    /* This process, and how many there are. */
    uint32_t me;
    uint32_t processes;
    /* The job's name, and 32 bytes that its processes know, and no other process. */
    const char *job;
    const unsigned char *secret;
    /* The address of this machine that the others reach it by. */
    const char *listen;
    /* Leaves this process's address, a text without line ends, where find has it from. Before open returns, once. */
    int (*publish)(const rma_opening *, const char *address);
    /* Stores the address of another process, and a zero; answers RMA_SUCCESS, or an error. After open has returned; it may wait
     * for the launcher. */
    int (*find)(const rma_opening *, uint32_t peer, char *address, size_t len);
};

/* A shared object that RMA_CHANNEL_PLUGIN names brings a channel by one symbol: `const rma_plugin rma_channel_plugin`. */
typedef struct rma_plugin {
    size_t size;
    /* RMA_VERSION. */
    uint32_t version;
    /* About what a short packet costs between processes of one node, and of two; 0: it does not reach so far. The same in all
     * processes. */
    uint32_t node_cost_ns;
    uint32_t remote_cost_ns;
    /* One line. */
    const char *text;
    /* Its name begins with x_, and is what RMA_CHANNEL takes. */
    const rma_channel_table *channel;
    /* Optional: whether there is what the channel needs. Stores what there is and answers RMA_SUCCESS; else why there is not. */
    int (*probe)(char *text, size_t len);
    /* Makes the channel's first argument. Answers RMA_SUCCESS; else stores why not. */
    int (*open)(const rma_opening *opening, void **channel, char *why, size_t len);
} rma_plugin;

/* ---------------------------------------------------------------------------------------------------------------- host */

enum { RMA_COMBINE_MIN = 0, RMA_COMBINE_MAX = 1, RMA_COMBINE_SUM = 2, RMA_COMBINE_BAND = 3, RMA_COMBINE_BOR = 4 };
enum { RMA_LOCALITY_OWN = 0, RMA_LOCALITY_NODE = 1, RMA_LOCALITY_REMOTE = 2 };
#define RMA_NO_PART UINT64_MAX

/* A collective that begins: name, members, and the asking rank. Valid during the call only. */
typedef struct rma_collective rma_collective;
struct rma_collective {
    size_t size;
    /* These three name it. They are the same on all members, and no other collective among them has the same. */
    uint64_t context;
    uint64_t part;
    uint64_t number;
    uint32_t me;
    uint32_t members;
    /* The process of a member. */
    uint32_t (*peer)(const rma_collective *, uint32_t rank);
};

enum {
    RMA_SEGMENT_SEPARATE = 0,   /* ranks that can share do, each at pages of its own */
    RMA_SEGMENT_CONTIGUOUS = 1, /* all share or none has it; one rank's memory follows that of the rank before */
    RMA_SEGMENT_SCATTERED = 2,  /* all share or none has it; each at pages of its own */
    RMA_SEGMENT_GIVEN = 3,      /* the ranks have their memory already; shared if all of it can be mapped */
    RMA_SEGMENT_PRIVATE = 4,    /* not shared */
    RMA_SEGMENT_CONTROL = 5     /* no data; ranks that can share their control memory do. For hosts whose table has takes_control */
};

typedef struct rma_segment_request {
    size_t size;
    int kind;
    uint64_t control_len; /* zeroed, aligned to 64 */
    uint64_t data_len;    /* zeroed, unless it is given */
    void *given;
    uint64_t data_align;  /* what this rank's data are aligned to, a page or more up to 2 MiB; of contiguous ones the first, to the most
                             that any rank asks */
} rma_segment_request;

/* One rank's part of a segment, as mapped here. */
typedef struct rma_segment_part {
    uint32_t rank;
    void *control;
    uint64_t control_len;
    void *data;
    uint64_t data_len;
} rma_segment_part;

/* What poll_segment fills. */
typedef struct rma_segment rma_segment;
struct rma_segment {
    size_t size;
    /* Called once for every rank that shares the memory, ascending, the caller among them. */
    int (*add)(rma_segment *, const rma_segment_part *part);
    /* Set by the host if it likes: called with memory after the last use of the segment. */
    void (*release)(void *memory);
    void *memory;
    /* Since: called once for every rank of which only control memory is mapped here, ascending; that rank maps this one's as well. For
     * RMA_SEGMENT_CONTROL, and for RMA_SEGMENT_GIVEN where the data cannot be mapped: locks are then words of shared memory. */
    int (*add_control)(rma_segment *, uint32_t rank, void *control, uint64_t control_len);
    /* Set by the host if each rank's memory lives until the last rank has released it. */
    int is_counted;
};

/* A wait of the library that has lasted for some time. */
typedef struct rma_long_wait {
    size_t size;
    const char *call;
    uint64_t waited_ns;
    /* A clause behind "for". */
    const char *waits_for;
} rma_long_wait;

/* What the library may take from the system: the time that a thread has had a processor, by which waits tell whether to spin; and for
 * processes that share memory, all of which say the same, barriers of memory that only rare changes pay for, and the process's number
 * as a sign of life, which a process that spins asks after. */
enum { RMA_SYSTEM_PROCESSOR_TIME = 1, RMA_SYSTEM_BARRIERS = 2, RMA_SYSTEM_LIFE = 4 };

/* The library around the engine. Functions answer RMA_SUCCESS or a class of error; they never wait, may be called from any
 * thread, with the engine's lock or without, and must not call the engine. Those marked "optional" may be null. */
typedef struct rma_host_table {
    size_t size;
    /* Begins to combine values element by element; every member gets the result. count may be 0: a barrier. */
    int (*begin_reduce)(void *host, const rma_collective *, int combine, const uint64_t *values, size_t count, uint64_t *request);
    /* Whether it is over; then the result, as many values as it began with. The request is gone then, as after an error. */
    int (*poll_reduce)(void *host, uint64_t request, uint64_t *values, size_t count, int *done);
    /* Optional, both: memory that processes share. Without them all memory is private, and shared windows are an error. */
    int (*begin_segment)(void *host, const rma_collective *, const rma_segment_request *, uint64_t *request);
    int (*poll_segment)(void *host, uint64_t request, rma_segment *segment, int *done);
    /* Optional without shared memory: where a peer is. Without it every other process is remote. */
    int (*locality)(void *host, uint32_t peer);
    /* Optional: nanoseconds since a fixed moment, the same to all processes of a node. Without it the system's monotonic clock. */
    uint64_t (*now_ns)(void *host);
    /* Optional: the end. */
    void (*destroy)(void *host);
    /* Since, all optional. The end of a collective is not asked for any more: its request is gone, and what others wait for of this
     * process fails. */
    void (*abandon_reduce)(void *host, uint64_t request);
    void (*abandon_segment)(void *host, uint64_t request);
    /* What the collectives under way wait for: stores a clause such as "process 3", and answers whether there is one. */
    int (*waits_for)(void *host, char *text, size_t len);
    /* A wait of the library lasts long (RMA_WAIT_REPORT). Without it a line goes to standard error. */
    void (*report)(void *host, const rma_long_wait *wait);
    /* Whether begin_segment takes RMA_SEGMENT_CONTROL. */
    int takes_control;
    /* RMA_SYSTEM_..., or'ed together. */
    int system;
} rma_host_table;

/* --------------------------------------------------------------------------------------------------------------- events */

enum {
    RMA_EVENT_CALL_BEGIN = 1, RMA_EVENT_CALL_END = 2, RMA_EVENT_DIRECT = 3, RMA_EVENT_EPOCH_OPEN = 4, RMA_EVENT_EPOCH_CLOSE = 5,
    RMA_EVENT_PACKET_SENT = 6, RMA_EVENT_PACKET_RECEIVED = 7, RMA_EVENT_WAIT_BEGIN = 8, RMA_EVENT_WAIT_END = 9,
    RMA_EVENT_SLEEP = 10, RMA_EVENT_WINDOW_NAME = 11
};
#define RMA_NO_WINDOW UINT64_MAX

/* What has happened, now. Valid during the call only. A number that is not listed above is of a later version. */
typedef struct rma_event {
    size_t size;
    int kind;
    /* The call, the call that opens the epoch, the kind of packet, or the window's name; null without one. */
    const char *text;
    /* Of a wait: a clause behind "for". */
    const char *waits_for;
    /* The window, as rma_window_query has it, or RMA_NO_WINDOW; a rank of it, or RMA_RANK_NULL. */
    uint64_t window;
    uint32_t target;
    /* Of a packet: the process at the other end, and the lane. */
    uint32_t peer;
    int lane;
    /* Of an epoch, the same at both ends; of a packet, the same at sender and receiver, from 0 for each pair and lane. */
    uint64_t number;
    /* Bytes of a packet, or of an operation in mapped memory (RMA_EVENT_DIRECT). */
    uint64_t len;
} rma_event;

/* -------------------------------------------------------------------------------------------------- engine and progress */

typedef struct rma_engine_options {
    size_t size;
    const rma_channel_table *channel; /* copied, as is host */
    void *channel_context;
    const rma_host_table *host;
    void *host_context;
    /* This process's number, as peers are numbered. */
    uint32_t me;
    /* Optional: the value of a variable (RMA_SLOTS, ...), or null. Without it all have their defaults. */
    const char *(*look_up)(void *context, const char *name);
    void *look_up_context;
    /* Since, optional: hears of epochs, packets and waits, from any thread, with the engine's lock or without; it is quick, and
     * does not call the library. Calls on mapped memory take longer then. */
    void (*observe)(void *context, const rma_event *event);
    void *observe_context;
} rma_engine_options;

/* Makes an engine. When it fails, neither channel nor host is destroyed. */
RMA_API int rma_engine_create(const rma_engine_options *options, rma_engine *engine);
/* Says goodbye to all peers; call until *closed is 1, and make progress in between. */
RMA_API int rma_engine_close(rma_engine engine, int *closed);
/* Ends the engine, whose windows have been freed; channel and host are destroyed. */
RMA_API int rma_engine_destroy(rma_engine engine);

/* Promises that from now on one thread at a time calls the engine and what belongs to it: locks of windows made afterwards cost
 * less. */
RMA_API int rma_engine_promise_one_caller(rma_engine engine);

/* A number that only grows. Name and text are valid for ever. */
typedef struct rma_counter {
    const char *name;
    const char *text;
    uint64_t value;
} rma_counter;

/* Elements of operations and targets in use, and the most that were at once. */
typedef struct rma_elements {
    size_t size;
    uint32_t ops;
    uint32_t most_ops;
    uint32_t targets;
    uint32_t most_targets;
} rma_elements;

/* What has been done, for all windows together; stores as many counters as there is room for, and in count (may be null) how many
 * there are. rma_window_counters has those of one window. */
RMA_API int rma_engine_counters(rma_engine engine, rma_counter *counters, size_t room, size_t *count);
RMA_API int rma_engine_elements(rma_engine engine, rma_elements *elements);
/* From now on operations in mapped memory of windows made afterwards are counted, too, which takes some nanoseconds each. */
RMA_API int rma_engine_keep_statistics(rma_engine engine);

/* One bounded step that never waits. news (may be null) is for rma_progress_arm, moved (may be null) whether anything did. */
RMA_API int rma_progress_poll(rma_engine engine, uint64_t *news, int *moved);
/* For a loop that looks at other events in turn: takes what is there and what comes within a microsecond or so, and does not wait. Such a
 * loop polls now and then, which finds what this does not. */
RMA_API int rma_progress_serve(rma_engine engine);
/* Readable, while a wait lives, when there is something to do. Not to be read or closed. */
RMA_API int rma_progress_descriptor(rma_engine engine, int *descriptor);
/* Before a sleep: wait.id is 0 when there is something to do, or something has moved since news was taken. */
RMA_API int rma_progress_arm(rma_engine engine, uint64_t news, rma_external_wait *wait);
/* After the sleep. */
RMA_API int rma_progress_disarm(rma_external_wait wait);
/* Wakes all threads that sleep in or for the engine. */
RMA_API int rma_progress_wake(rma_engine engine);

/* ------------------------------------------------------------------------------------------------------------- windows */

/* The processes of a window: a list, or count processes from first on, stride apart, when peers is null. */
typedef struct rma_group {
    size_t size;
    /* The host's name for this group: the same on all members, another one for another group. */
    uint64_t context;
    uint32_t me;
    uint32_t count;
    const uint32_t *peers;
    uint32_t first;
    uint32_t stride;
} rma_group;

enum { RMA_WINDOW_ALLOCATE = 0, RMA_WINDOW_SHARED = 1, RMA_WINDOW_CREATE = 2, RMA_WINDOW_DYNAMIC = 3 };

typedef struct rma_window_spec {
    size_t size;
    int flavor;
    uint64_t len;  /* bytes on this rank; not for dynamic windows */
    uint64_t unit; /* displacement unit in bytes; not for dynamic windows */
    void *memory;  /* for RMA_WINDOW_CREATE; must outlive the window */
    /* Hints of the standard: keys and values in turn, a null at the end. May be null; what is not known is ignored. */
    const char *const *hints;
} rma_window_spec;

/* Collective over the group. All ranks take part in the same order, also those whose arguments are wrong. */
RMA_API int rma_window_begin(rma_engine engine, const rma_group *group, const rma_window_spec *spec, rma_creation *creation);
/* window->id is 0 until the window is there. After that, and after an error, the creation is gone. */
RMA_API int rma_creation_poll(rma_creation creation, rma_window *window);
/* Stores what it waits for, a clause behind "for", as far as there is room. */
RMA_API int rma_creation_waits_for(rma_creation creation, char *text, size_t len);
/* Collective. The window is gone when the call is over. */
RMA_API int rma_window_free(rma_window window, rma_call *call);

typedef struct rma_window_info {
    size_t size;
    uint32_t rank;
    uint32_t ranks;
    int flavor;
    void *memory; /* of this rank, until the window is freed */
    uint64_t len;
    uint64_t id; /* since: the window's number on all its ranks, for events */
} rma_window_info;

RMA_API int rma_window_query(rma_window window, rma_window_info *info);
/* Memory of a rank that is mapped here; *memory is null if it is not. */
RMA_API int rma_window_mapped(rma_window window, uint32_t rank, void **memory, uint64_t *len, uint64_t *unit);
/* What messages and events call the window. */
RMA_API int rma_window_set_name(rma_window window, const char *name);
/* Hints, as in rma_window_spec; those that only a creation can follow are ignored. Each rank has its own. */
RMA_API int rma_window_set_hints(rma_window window, const char *const *hints);
/* The value in force for a key, as far as there is room; *is_set is 0 when the window knows no such hint. */
RMA_API int rma_window_hint(rma_window window, const char *key, char *value, size_t len, int *is_set);
RMA_API int rma_window_counters(rma_window window, rma_counter *counters, size_t room, size_t *count);
RMA_API int rma_window_elements(rma_window window, rma_elements *elements);
/* Dynamic windows. The memory must stay until it is detached: until the call that rma_window_begin_detach began is over.
 * rma_window_detach is the one function that waits: for transfers to end. */
RMA_API int rma_window_attach(rma_window window, void *memory, uint64_t len);
RMA_API int rma_window_begin_detach(rma_window window, const void *memory, rma_call *call);
RMA_API int rma_window_detach(rma_window window, const void *memory);

/* ---------------------------------------------------------------------------------------------------- synchronization */

enum { RMA_LOCK_EXCLUSIVE = 1, RMA_LOCK_SHARED = 2 };
enum { RMA_NOCHECK = 1024, RMA_NOPRECEDE = 2048, RMA_NOPUT = 4096, RMA_NOSTORE = 8192, RMA_NOSUCCEED = 16384 };

/* The rank of no process (MPI_PROC_NULL). Communication calls, locks, unlocks and flushes take it as a target: nothing happens,
 * in whatever epoch, the call is over at once, and results stay as they were. Other arguments are checked as always. */
#define RMA_RANK_NULL UINT32_MAX

/* Whether a call is over; then, and after an error, it is gone. Dropping one with rma_call_forget leaves its effect open. */
RMA_API int rma_call_poll(rma_call call, int *done);
RMA_API int rma_call_forget(rma_call call);
/* Stores what a call waits for, a clause behind "for", as far as there is room: for reports of calls that take long. */
RMA_API int rma_call_waits_for(rma_call call, char *text, size_t len);

/* All of these begin a call: MPI_Win_fence and so on. */
RMA_API int rma_fence(rma_window window, int assertion, rma_call *call);
RMA_API int rma_lock(rma_window window, int kind, uint32_t target, int assertion, rma_call *call);
RMA_API int rma_unlock(rma_window window, uint32_t target, rma_call *call);
RMA_API int rma_lock_all(rma_window window, int assertion, rma_call *call);
RMA_API int rma_unlock_all(rma_window window, rma_call *call);
RMA_API int rma_flush(rma_window window, uint32_t target, rma_call *call);
RMA_API int rma_flush_local(rma_window window, uint32_t target, rma_call *call);
RMA_API int rma_flush_all(rma_window window, rma_call *call);
RMA_API int rma_flush_local_all(rma_window window, rma_call *call);
RMA_API int rma_start(rma_window window, const uint32_t *ranks, size_t count, int assertion, rma_call *call);
RMA_API int rma_complete(rma_window window, rma_call *call);
RMA_API int rma_wait(rma_window window, rma_call *call);
/* These are over when they return. */
RMA_API int rma_post(rma_window window, const uint32_t *ranks, size_t count, int assertion);
RMA_API int rma_test(rma_window window, int *done);
RMA_API int rma_sync(rma_window window);

/* ------------------------------------------------------------------------------------------------------- communication */

enum {
    RMA_SUM = 1, RMA_PROD = 2, RMA_MIN = 3, RMA_MAX = 4, RMA_LAND = 5, RMA_LOR = 6, RMA_LXOR = 7, RMA_BAND = 8, RMA_BOR = 9,
    RMA_BXOR = 10, RMA_REPLACE = 11, RMA_NO_OP = 12, RMA_MINLOC = 13, RMA_MAXLOC = 14
};

/* Elements in the caller's memory. It stays in place until a synchronization call has completed the operation. With a type of
 * absolute displacements, memory is null. */
typedef struct rma_buffer {
    void *memory;
    uint64_t count;
    rma_type type;
} rma_buffer;

/* Elements in the window of a rank: a displacement in units of that rank, how many, and of which type. */
typedef struct rma_target {
    uint32_t rank;
    uint64_t disp;
    uint64_t count;
    rma_type type;
} rma_target;

/* All of these answer RMA_AGAIN when there is no room for an operation. Datatypes may be freed right after the call. */
RMA_API int rma_put(rma_window window, const rma_buffer *origin, const rma_target *target);
RMA_API int rma_get(rma_window window, const rma_buffer *result, const rma_target *target);
RMA_API int rma_accumulate(rma_window window, const rma_buffer *origin, int op, const rma_target *target);
/* origin may be null for RMA_NO_OP. */
RMA_API int rma_get_accumulate(rma_window window, const rma_buffer *origin, const rma_buffer *result, int op, const rma_target *target);
/* One element of a basic type. origin and compare are read before the call returns; origin may be null for RMA_NO_OP. */
RMA_API int rma_fetch_and_op(rma_window window, const void *origin, void *result, rma_type type, int op, uint32_t rank, uint64_t disp);
RMA_API int rma_compare_and_swap(rma_window window, const void *origin, const void *compare, void *result, rma_type type, uint32_t rank, uint64_t disp);

/* With requests: the call is over when its buffers are the caller's again. For epochs of lock. */
RMA_API int rma_rput(rma_window window, const rma_buffer *origin, const rma_target *target, rma_call *call);
RMA_API int rma_rget(rma_window window, const rma_buffer *result, const rma_target *target, rma_call *call);
RMA_API int rma_raccumulate(rma_window window, const rma_buffer *origin, int op, const rma_target *target, rma_call *call);
RMA_API int rma_rget_accumulate(rma_window window, const rma_buffer *origin, const rma_buffer *result, int op, const rma_target *target, rma_call *call);

/* ----------------------------------------------------------------------------------------------------------- fast paths */

/* Calls where every instruction counts: those that are over at once, on memory that is mapped here. They do what the functions of
 * the same name do, or nothing at all, and answer RMA_AGAIN: then make the ordinary call, which also says what is wrong. A path is
 * valid until rma_window_free is called for its window, and believed; buffers do not overlap, and len is below PTRDIFF_MAX. */
typedef struct rma_path rma_path;
RMA_API int rma_window_path(rma_window window, const rma_path **path);
RMA_API int rma_path_put(const rma_path *path, const void *origin, size_t len, uint32_t target, uint64_t disp);
RMA_API int rma_path_get(const rma_path *path, void *result, size_t len, uint32_t target, uint64_t disp);
RMA_API int rma_path_accumulate(const rma_path *path, const void *origin, size_t count, rma_type type, int op, uint32_t target, uint64_t disp);
RMA_API int rma_path_fetch_and_op(const rma_path *path, const void *origin, void *result, rma_type type, int op, uint32_t target, uint64_t disp);
RMA_API int rma_path_compare_and_swap(const rma_path *path, const void *origin, const void *compare, void *result, rma_type type, uint32_t target, uint64_t disp);
/* Without assertions. */
RMA_API int rma_path_lock(const rma_path *path, int kind, uint32_t target);
RMA_API int rma_path_unlock(const rma_path *path, uint32_t target);
RMA_API int rma_path_flush(const rma_path *path, uint32_t target);
RMA_API int rma_path_flush_all(const rma_path *path);
RMA_API int rma_path_sync(const rma_path *path);

/* ----------------------------------------------------------------------------------------------------------- datatypes */

/* Basic types; these handles are never freed. */
#define RMA_BASIC(code) (UINT64_C(0x5400000000000000) | (code))
#define RMA_BYTE RMA_BASIC(0)
#define RMA_INT8 RMA_BASIC(1)
#define RMA_UINT8 RMA_BASIC(2)
#define RMA_INT16 RMA_BASIC(3)
#define RMA_UINT16 RMA_BASIC(4)
#define RMA_INT32 RMA_BASIC(5)
#define RMA_UINT32 RMA_BASIC(6)
#define RMA_INT64 RMA_BASIC(7)
#define RMA_UINT64 RMA_BASIC(8)
#define RMA_FLOAT RMA_BASIC(9)
#define RMA_DOUBLE RMA_BASIC(10)
#define RMA_CHAR RMA_BASIC(11)
#define RMA_WCHAR RMA_BASIC(12)
#define RMA_LOGICAL8 RMA_BASIC(13)
#define RMA_LOGICAL16 RMA_BASIC(14)
#define RMA_LOGICAL32 RMA_BASIC(15)
#define RMA_LOGICAL64 RMA_BASIC(16)
#define RMA_LONG_DOUBLE RMA_BASIC(17)
#define RMA_COMPLEX_FLOAT RMA_BASIC(18)
#define RMA_COMPLEX_DOUBLE RMA_BASIC(19)
#define RMA_COMPLEX_LONG_DOUBLE RMA_BASIC(20)
#define RMA_FLOAT_INT RMA_BASIC(21)
#define RMA_DOUBLE_INT RMA_BASIC(22)
#define RMA_LONG_INT RMA_BASIC(23)
#define RMA_2INT RMA_BASIC(24)
#define RMA_SHORT_INT RMA_BASIC(25)
#define RMA_LONG_DOUBLE_INT RMA_BASIC(26)
#define RMA_2FLOAT RMA_BASIC(27)
#define RMA_2DOUBLE RMA_BASIC(28)

/* MPI_Type_contiguous and so on; what is made is freed with rma_type_free. Displacements are in bytes. */
RMA_API int rma_type_contiguous(uint64_t count, rma_type base, rma_type *type);
RMA_API int rma_type_hvector(uint64_t count, uint64_t block_len, int64_t stride, rma_type base, rma_type *type);
RMA_API int rma_type_hindexed(size_t count, const uint64_t *block_lens, const int64_t *displacements, rma_type base, rma_type *type);
RMA_API int rma_type_struct(size_t count, const uint64_t *block_lens, const int64_t *displacements, const rma_type *types, rma_type *type);
RMA_API int rma_type_resized(int64_t lower_bound, int64_t extent, rma_type base, rma_type *type);
RMA_API int rma_type_query(rma_type type, uint64_t *size, int64_t *lower_bound, int64_t *extent);
RMA_API int rma_type_free(rma_type type);

#ifdef __cplusplus
}
#endif

#endif
