//! What limits us where a budget is missed: a sentence for each case, which reports show only beside a missed budget.
//!
//! A sentence says what the time is spent on, so that it stays true when the number changes; it goes when the cause goes.

use super::results::Transport;

/// Case, and the sentence: through shared memory, over TCP.
type Line = (&'static str, &'static str, &'static str);

const LINES: &[Line] = &[
    (
        "put",
        "a flush is a full memory ordering, which is half of the time of a put of 8 bytes and more than the copy; large ones run \
         at the speed of one core's copy loop",
        "a put that nothing answers needs a request for an acknowledgement and its answer, both through the engine's lock and a \
         step of it; the bare ping-pong has neither",
    ),
    (
        "put-rate",
        "each put checks the gate of its epoch and its bounds",
        "each put joins a packet of others under the engine's lock, and is checked on its own at the target",
    ),
    (
        "get",
        "each get checks the gate of its epoch and its bounds; large ones run at the speed of one core's copy loop",
        "the answer passes the engine's lock and a step of it on both sides",
    ),
    (
        "lock-put",
        "lock and unlock change a word in shared memory with a full memory ordering each, and check whose turn it is",
        "request and answer pass the engine's lock and a step of it on both sides",
    ),
    (
        "acc",
        "a small accumulate announces itself to bulk ones before its atomic instruction",
        "request and answer pass the engine's lock and a step of it on both sides",
    ),
    (
        "acc-rate",
        "a small accumulate announces itself to bulk ones before its atomic instruction",
        "each accumulate joins a packet of others under the engine's lock, and is checked and combined on its own at the target",
    ),
    (
        "fetch-op",
        "announcement, bounds and the checks of operation and type cost as much as the atomic instruction, and more on a slow core",
        "request and answer pass the engine's lock and a step of it on both sides",
    ),
    (
        "cas",
        "announcement and bounds cost more than the atomic instruction",
        "request and answer pass the engine's lock and a step of it on both sides",
    ),
    (
        "acc-double",
        "sums are combined in place, so memory is read and written once; what is left is the lock of a stripe for each 16 KiB",
        "received pieces are combined with the window one after another, by the core that also receives",
    ),
    (
        "get-acc",
        "the old elements are copied out, in pieces that fit the first-level cache, before the new ones are combined in place",
        "pieces are combined and sent back one after another by the one core of the target",
    ),
    (
        "rput",
        "a slot for the request is looked for, taken, found by its handle and given back",
        "the first eight are packets of their own; the others join a packet under the engine's lock, and take a slot for the request",
    ),
    (
        "lock-all-put",
        "each lock word is changed by an atomic instruction twice",
        "the lock is asked for with the put, and the release leaves with it",
    ),
    (
        "acc-max",
        "a stripe of the window is locked, and the flush orders behind stores",
        "the target combines the elements when the packet has come",
    ),
    (
        "fence",
        "both ranks meet in shared memory: a cache line of each moves there and back",
        "each fence is a packet of each rank to the other, one way, with a step of the engine on both sides",
    ),
    (
        "pscw",
        "post, start, complete and wait meet in shared memory: a cache line moves for the post and one for the end",
        "post, data and done are packets that each pass a step of the engine",
    ),
    (
        "vector-put",
        "the walk over the layout visits each element",
        "the elements are gathered into packets, which are spread at the target, one element at a time",
    ),
    (
        "indexed-put",
        "the walk over the layout visits each run on both sides",
        "the runs are gathered into packets, which are spread at the target",
    ),
    (
        "indexed-acc",
        "the walk over the layout visits each run on both sides",
        "the runs are gathered into packets, and combined one by one at the target",
    ),
    (
        "block-put",
        "datatypes, layouts and what they need are looked at anew in each call",
        "the rows are gathered into a packet, which is spread at the target",
    ),
    (
        "block-acc",
        "datatypes and layouts are looked at anew in each call, and a stripe of the window is locked",
        "the rows are gathered into a packet, and combined one by one at the target",
    ),
    (
        "counter",
        "the word travels between the cores' caches",
        "each operation of another rank is a round trip, whose answer waits for the target's turn on a core where ranks outnumber cores",
    ),
    (
        "counters",
        "the lock word and the announcements of the ranks lie beside each other, not the counters",
        "each operation of another rank is a round trip, whose answer waits for the target's turn on a core where ranks outnumber cores",
    ),
    (
        "lock-contended",
        "the lock moves from one core to the other, and a rank that has polled it in vain joins the line through the engine",
        "each lock is granted by packets that wait for the target's turn on a core",
    ),
    (
        "lock-fair",
        "the readers' epochs take longer where ranks outnumber cores, and the writer waits for their ends",
        "the readers' epochs take longer where ranks outnumber cores, and the writer waits for their ends",
    ),
    (
        "mix",
        "accumulates of 1 to 100 KiB dominate: they run at the speed of memory",
        "accumulates of 1 to 100 KiB dominate: a flush after each waits for the target to combine them",
    ),
    (
        "threads-put",
        "threads share the window's counters of open accesses",
        "all threads of a process take one engine lock for each operation",
    ),
    (
        "passive-put",
        "mapped memory needs no other rank; what is measured is the lock's first use after a pause",
        "a request waits until the target calls the library, or until its agent has been woken",
    ),
    (
        "win-allocate",
        "a segment is made, mapped and unmapped each time, and ranks that outnumber cores meet several times",
        "three meetings of all ranks over packets",
    ),
    (
        "win-allocate-large",
        "a segment is made, mapped and unmapped each time, and ranks that outnumber cores meet several times",
        "three meetings of all ranks over packets",
    ),
    (
        "created-put",
        "memory that the library did not allocate is reached by packets, which the target's core has to serve",
        "a put needs a request for an acknowledgement and its answer",
    ),
    (
        "created-get",
        "memory that the library did not allocate is reached by packets; request and reply pass the engine on both sides",
        "a get needs a request and its answer",
    ),
    (
        "created-fetch",
        "memory that the library did not allocate is reached by packets; request and reply pass the engine on both sides",
        "a fetch_and_op needs a request and its answer",
    ),
    (
        "message",
        "messages pass the engine's lock and its rings, and are matched",
        "messages pass the engine's lock and are matched",
    ),
    (
        "neighbor-messages",
        "messages pass the engine's lock and its rings, and are matched",
        "messages pass the engine's lock and are matched",
    ),
    (
        "neighbor-alltoall",
        "short blocks leave as messages do; what has come is found by the steps of a collective",
        "short blocks leave as messages do; what has come is found by the steps of a collective",
    ),
    (
        "put-notify",
        "what a call decodes and checks, on both sides, adds to the way of the counter's line",
        "a notified put passes the engine's lock on both sides, and wakes a program there, where an acknowledgement goes back by itself",
    ),
    (
        "put-send",
        "a flush and a message follow each put",
        "a flush waits for its answer before the message leaves",
    ),
    ("put-flag", "the target makes progress while it polls the flag", "each flush waits for its answer"),
    ("idle-wait", "a wait polls before it sleeps", "a wait polls before it sleeps"),
    (
        "idle-away",
        "a thread of the library looks whether the program is away",
        "a thread of the library looks whether the program is away",
    ),
];

/// What limits a case, as a clause without a full stop.
pub(crate) fn reason(transport: Transport, case: &str) -> &'static str {
    let line = LINES.iter().find(|line| line.0 == case);
    line.map_or("not looked into yet", |line| match transport {
        Transport::Shm => line.1,
        Transport::Tcp => line.2,
    })
}

#[cfg(test)]
mod tests {
    use super::super::cases::rows;
    use super::*;

    #[test]
    fn every_row_has_its_reasons() {
        for row in rows() {
            for transport in Transport::ALL {
                let text = reason(transport, row.case);
                assert!(text != "not looked into yet" && !text.ends_with('.'), "{}", row.case);
            }
        }
    }
}
