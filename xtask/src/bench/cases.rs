//! The rows of the tables: cases of the C program, what is shown of them, the limit they are held against, and our budget.
//!
//! Budgets are those of the design: each is the most that our time may be, as a multiple of the best other library's time or
//! of the raw limit's. A rate of twice the best is half its time per operation.

use super::results::Transport;

/// A case of the C program.
#[derive(Debug)]
pub(crate) struct Case {
    /// As the program names it.
    pub(crate) name: &'static str,
    /// Numbers of ranks that it is measured with.
    pub(crate) ranks: &'static [u32],
    /// What it measures, for the help text.
    pub(crate) title: &'static str,
    /// Whether it needs `MPI_THREAD_MULTIPLE`, and so a job of its own: libraries take locks then that others do without.
    pub(crate) is_threaded: bool,
}

const fn case(name: &'static str, ranks: &'static [u32], title: &'static str) -> Case {
    Case { name, ranks, title, is_threaded: false }
}

/// All cases, in the order in which they are run.
pub(crate) const CASES: &[Case] = &[
    case("put", &[2], "one put and a flush, by size"),
    case("put-rate", &[2], "up to 1,000 puts and one flush, by size"),
    case("rput", &[2], "one put with a request and its wait"),
    case("get", &[2], "one get and a flush, by size"),
    case("get-rate", &[2], "up to 1,000 gets and one flush, by size"),
    case("vector-put", &[2], "one put of words with gaps, and a flush, by size"),
    case("indexed-put", &[2], "one put of words at uneven distances, and a flush"),
    case("indexed-acc", &[2], "one accumulate of doubles at uneven distances, and a flush"),
    case("block-put", &[2], "one put of a square of a matrix, and a flush"),
    case("block-acc", &[2], "one accumulate of a square of a matrix of doubles, and a flush"),
    case("acc", &[2], "one accumulate of a 64-bit integer and a flush"),
    case("acc-rate", &[2], "1,000 accumulates of 64-bit integers and one flush"),
    case("acc-double", &[2], "one accumulate of doubles and a flush, by size"),
    case("acc-max", &[2], "one accumulate of MPI_MAX on doubles and a flush"),
    case("fetch-op", &[2], "fetch_and_op and a flush"),
    case("cas", &[2], "compare_and_swap and a flush"),
    case("get-acc", &[2], "get_accumulate of doubles and a flush, by size"),
    case("lock-put", &[2], "exclusive lock, put, unlock, by size"),
    case("lock-all-put", &[2], "lock_all, put, unlock_all"),
    case("fence", &[2], "fence, put, fence"),
    case("pscw", &[2], "post, start, put, complete, wait"),
    case("passive-put", &[2], "lock, put, unlock while the target computes for 200 ms"),
    case("created-put", &[2], "put and flush on memory of MPI_Win_create"),
    case("created-get", &[2], "get and flush on memory of MPI_Win_create"),
    case("created-fetch", &[2], "fetch_and_op and flush on memory of MPI_Win_create"),
    case("message", &[2], "a message and one back, by size"),
    case(
        "neighbor-messages",
        &[2],
        "a block to each neighbor in a ring and one from each, as messages, by size",
    ),
    case("neighbor-alltoall", &[2], "the same by MPI_Neighbor_alltoall"),
    case("put-notify", &[2], "a notified put and one back, each waited for, by size"),
    case("put-send", &[2], "a put, a flush and an empty message, and the same back, by size"),
    case("put-flag", &[2], "a put, a flush, a put of a flag and a flush, and the same back, by size"),
    case("idle-wait", &[2], "CPU use of a rank that waits in a barrier"),
    case("idle-away", &[2], "CPU use of a rank that sleeps outside the library"),
    case("counter", &[2, 4, 8], "all ranks fetch_and_op one word"),
    case("counters", &[4, 8], "all ranks fetch_and_op words of their own at one target"),
    case("lock-contended", &[2, 4, 8], "all ranks lock one target exclusively, put, unlock"),
    case("lock-fair", &[4, 8], "longest wait for an exclusive lock behind epochs of lock_all that take 1 ms"),
    case(
        "mix",
        &[2, 4],
        "90 % puts of 10 to 999 B, accumulates of 1 to 100 KiB, fetch_and_op, between all ranks",
    ),
    case("win-allocate", &[2, 8], "MPI_Win_allocate and MPI_Win_free, by size"),
    case("win-allocate-large", &[2, 8], "MPI_Win_allocate of 1 GiB per rank and MPI_Win_free"),
    Case {
        is_threaded: true,
        ..case("threads-put", &[2], "1, 2 and 4 threads of one rank put, 100 puts and one flush each")
    },
];

/// What a number of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Time of an iteration.
    Time,
    /// Operations per second, of all ranks together.
    Rate,
    /// Bytes per second.
    Bandwidth,
    /// Part of a core: nanoseconds of CPU time per second.
    Share,
}

/// The most that our time may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Budget {
    /// That many times the best other library's.
    Best(f64),
    /// That many times the raw limit's.
    Raw(f64),
    /// Both at once: best, raw.
    Both(f64, f64),
    /// So many nanoseconds.
    Time(f64),
    /// That many times our own time for the same with two ranks.
    Fewer(f64),
    /// That many times our own time for something else of the same size.
    Own(Other, f64),
}

/// What a budget compares with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Other {
    pub(crate) case: &'static str,
    pub(crate) words: &'static str,
}

/// The number of ranks that [`Budget::Fewer`] compares with.
pub(crate) const FEWER: u32 = 2;
/// A put's one way, and the answer's way back.
const PUT: Other = Other { case: "put", words: "put + flush" };
/// The same blocks.
const MESSAGES: Other = Other { case: "neighbor-messages", words: "messages" };

/// A raw limit: a case of the program's limits and its size.
pub(crate) type Limit = (&'static str, u64);

/// A row of the tables.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) title: &'static str,
    pub(crate) case: &'static str,
    pub(crate) size: u64,
    pub(crate) ranks: u32,
    pub(crate) measure: Measure,
    /// Through shared memory: raw limit and budget.
    shm: (Option<Limit>, Option<Budget>),
    /// Over TCP: the same.
    tcp: (Option<Limit>, Option<Budget>),
}

impl Row {
    pub(crate) fn limit(&self, transport: Transport) -> Option<Limit> {
        self.of(transport).0
    }

    pub(crate) fn budget(&self, transport: Transport) -> Option<Budget> {
        self.of(transport).1
    }

    fn of(&self, transport: Transport) -> (Option<Limit>, Option<Budget>) {
        match transport {
            Transport::Shm => self.shm,
            Transport::Tcp => self.tcp,
        }
    }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const ATOMIC: Option<Limit> = Some(("raw-atomic", 8));
const SHARED_ATOMIC: Option<Limit> = Some(("raw-atomic-contended", 8));
const FLAG: Option<Limit> = Some(("raw-flag", 8));
const WORD: Option<Limit> = Some(("raw-memcpy", 8));
const COPY: Option<Limit> = Some(("raw-memcpy", 4 * MIB));
const TRIP: Option<Limit> = Some(("raw-tcp", 8));
const STREAM: Option<Limit> = Some(("raw-tcp-stream", 4 * MIB));

/// A copy of so many bytes in memory.
const fn copy(size: u64) -> Option<Limit> {
    Some(("raw-memcpy", size))
}

/// So many bytes over TCP, and an answer.
const fn trip(size: u64) -> Option<Limit> {
    Some(("raw-tcp", size))
}

const fn best(factor: f64) -> Option<Budget> {
    Some(Budget::Best(factor))
}

const fn raw(factor: f64) -> Option<Budget> {
    Some(Budget::Raw(factor))
}

const fn both(best: f64, raw: f64) -> Option<Budget> {
    Some(Budget::Both(best, raw))
}

const fn within(time_ns: f64) -> Option<Budget> {
    Some(Budget::Time(time_ns))
}

const fn put(factor: f64) -> Option<Budget> {
    Some(Budget::Own(PUT, factor))
}

const fn messages(factor: f64) -> Option<Budget> {
    Some(Budget::Own(MESSAGES, factor))
}

const fn fewer(factor: f64) -> Option<Budget> {
    Some(Budget::Fewer(factor))
}

/// One percent of a core.
const PERCENT: Option<Budget> = within(1e7);

use Measure::{Bandwidth, Rate, Share, Time};

/// One row in one line: title, case, size, ranks, measure, shared memory, TCP.
type Line = (
    &'static str,
    (&'static str, u64, u32),
    Measure,
    (Option<Limit>, Option<Budget>),
    (Option<Limit>, Option<Budget>),
);

#[rustfmt::skip]
const LINES: &[Line] = &[
    ("put 8 B + flush", ("put", 8, 2), Time, (WORD, best(0.5)), (TRIP, raw(1.15))),
    ("get 8 B + flush", ("get", 8, 2), Time, (WORD, None), (TRIP, raw(1.1))),
    ("put rate 8 B, 1,000 per flush", ("put-rate", 8, 2), Rate, (WORD, best(0.5)), (None, best(0.5))),
    ("put 8 B with a request + wait", ("rput", 8, 2), Time, (WORD, best(1.0)), (None, best(1.0))),
    ("lock exclusive + put 8 B + unlock", ("lock-put", 8, 2), Time, (None, best(0.5)), (TRIP, raw(1.2))),
    ("lock_all + put 8 B + unlock_all", ("lock-all-put", 8, 2), Time, (None, best(1.0)), (TRIP, None)),
    ("accumulate 8 B + flush", ("acc", 8, 2), Time, (ATOMIC, best(0.5)), (TRIP, None)),
    ("accumulate rate 8 B", ("acc-rate", 8, 2), Rate, (ATOMIC, best(0.5)), (None, best(0.5))),
    ("fetch_and_op 8 B + flush", ("fetch-op", 8, 2), Time, (ATOMIC, both(0.5, 2.5)), (TRIP, raw(1.1))),
    ("compare_and_swap 8 B + flush", ("cas", 8, 2), Time, (ATOMIC, None), (TRIP, None)),
    ("put 4 MiB", ("put", 4 * MIB, 2), Bandwidth, (COPY, best(1.0)), (STREAM, raw(1.0 / 0.95))),
    ("get 4 MiB", ("get", 4 * MIB, 2), Bandwidth, (COPY, best(1.0)), (STREAM, both(1.0, 1.0 / 0.95))),
    (
        "accumulate double 4 MiB", ("acc-double", 4 * MIB, 2), Bandwidth, (COPY, best(1.0)),
        (STREAM, both(1.0, 1.0 / 0.9)),
    ),
    ("put 1 KiB + flush", ("put", KIB, 2), Time, (copy(KIB), best(1.0)), (trip(KIB), best(1.0))),
    ("put 16 KiB + flush", ("put", 16 * KIB, 2), Time, (copy(16 * KIB), best(1.0)), (trip(16 * KIB), best(1.0))),
    ("put 64 KiB + flush", ("put", 64 * KIB, 2), Time, (copy(64 * KIB), best(1.0)), (trip(64 * KIB), best(1.0))),
    ("put 256 KiB + flush", ("put", 256 * KIB, 2), Time, (copy(256 * KIB), best(1.0)), (trip(256 * KIB), best(1.0))),
    ("put 1 MiB + flush", ("put", MIB, 2), Time, (copy(MIB), best(1.0)), (trip(MIB), best(1.0))),
    ("get 1 KiB + flush", ("get", KIB, 2), Time, (copy(KIB), best(1.0)), (trip(KIB), best(1.0))),
    ("get 16 KiB + flush", ("get", 16 * KIB, 2), Time, (copy(16 * KIB), best(1.0)), (trip(16 * KIB), best(1.0))),
    ("get 64 KiB + flush", ("get", 64 * KIB, 2), Time, (copy(64 * KIB), best(1.0)), (trip(64 * KIB), best(1.0))),
    ("get 256 KiB + flush", ("get", 256 * KIB, 2), Time, (copy(256 * KIB), best(1.0)), (trip(256 * KIB), best(1.0))),
    ("get 1 MiB + flush", ("get", MIB, 2), Time, (copy(MIB), best(1.0)), (trip(MIB), best(1.0))),
    ("accumulate double 1 KiB", ("acc-double", KIB, 2), Time, (copy(KIB), best(1.0)), (trip(KIB), best(1.0))),
    (
        "accumulate double 16 KiB", ("acc-double", 16 * KIB, 2), Time, (copy(16 * KIB), best(1.0)),
        (trip(16 * KIB), best(1.0)),
    ),
    (
        "accumulate double 64 KiB", ("acc-double", 64 * KIB, 2), Time, (copy(64 * KIB), best(1.0)),
        (trip(64 * KIB), best(1.0)),
    ),
    (
        "accumulate double 256 KiB", ("acc-double", 256 * KIB, 2), Time, (copy(256 * KIB), best(1.0)),
        (trip(256 * KIB), best(1.0)),
    ),
    ("accumulate double 1 MiB", ("acc-double", MIB, 2), Time, (copy(MIB), best(1.0)), (trip(MIB), best(1.0))),
    ("accumulate MPI_MAX double 4 KiB", ("acc-max", 4 * KIB, 2), Time, (None, best(1.0)), (TRIP, best(1.0))),
    ("get_accumulate double 8 B + flush", ("get-acc", 8, 2), Time, (ATOMIC, best(1.0)), (TRIP, best(1.0))),
    ("get_accumulate double 1 KiB", ("get-acc", KIB, 2), Time, (None, best(1.0)), (None, best(1.0))),
    ("get_accumulate double 4 KiB", ("get-acc", 4 * KIB, 2), Time, (None, best(1.0)), (None, best(1.0))),
    ("get_accumulate double 16 KiB", ("get-acc", 16 * KIB, 2), Time, (None, best(1.0)), (None, best(1.0))),
    ("get_accumulate double 64 KiB", ("get-acc", 64 * KIB, 2), Time, (None, best(1.0)), (None, best(1.0))),
    ("get_accumulate double 256 KiB", ("get-acc", 256 * KIB, 2), Time, (None, best(1.0)), (None, best(1.0))),
    ("get_accumulate double 1 MiB", ("get-acc", MIB, 2), Time, (None, best(0.7)), (None, best(1.0))),
    ("fence + put 8 B + fence", ("fence", 8, 2), Time, (FLAG, best(0.7)), (TRIP, raw(2.1))),
    ("post/start/put/complete/wait", ("pscw", 8, 2), Time, (FLAG, best(0.7)), (TRIP, raw(1.2))),
    ("vector put, 1,024 × 8 B", ("vector-put", 8 * KIB, 2), Time, (None, best(0.7)), (TRIP, raw(1.5))),
    ("vector put, 65,536 × 8 B", ("vector-put", 512 * KIB, 2), Time, (None, best(1.0)), (None, best(1.0))),
    ("indexed put, 1,000 × 8 B", ("indexed-put", 8000, 2), Time, (None, best(1.0)), (TRIP, best(1.0))),
    ("indexed accumulate, 1,000 doubles", ("indexed-acc", 8000, 2), Time, (None, best(1.0)), (TRIP, best(1.0))),
    ("put of 8 rows of 64 B", ("block-put", 512, 2), Time, (None, best(1.0)), (TRIP, best(1.0))),
    ("accumulate of 8 rows of 8 doubles", ("block-acc", 512, 2), Time, (None, best(1.0)), (TRIP, best(1.0))),
    ("2 ranks, one counter", ("counter", 8, 2), Rate, (SHARED_ATOMIC, best(1.0)), (None, best(1.0))),
    ("4 ranks, one counter", ("counter", 8, 4), Rate, (SHARED_ATOMIC, best(0.5)), (None, best(0.5))),
    ("8 ranks, one counter", ("counter", 8, 8), Rate, (SHARED_ATOMIC, fewer(2.0)), (None, fewer(2.0))),
    ("4 ranks, a counter each", ("counters", 8, 4), Rate, (None, best(1.0)), (None, best(1.0))),
    ("8 ranks, a counter each", ("counters", 8, 8), Rate, (None, best(1.0)), (None, best(1.0))),
    ("2 ranks, one exclusive lock", ("lock-contended", 8, 2), Rate, (None, best(1.0)), (None, best(1.0))),
    ("4 ranks, one exclusive lock", ("lock-contended", 8, 4), Rate, (None, best(0.5)), (None, best(0.5))),
    ("8 ranks, one exclusive lock", ("lock-contended", 8, 8), Rate, (None, fewer(2.0)), (None, fewer(2.0))),
    (
        "4 ranks, a writer's longest wait behind readers", ("lock-fair", 8, 4), Time, (None, within(6e6)),
        (None, within(6e6)),
    ),
    (
        "8 ranks, a writer's longest wait behind readers", ("lock-fair", 8, 8), Time, (None, within(14e6)),
        (None, within(14e6)),
    ),
    ("chemistry mix, 2 ranks", ("mix", 0, 2), Rate, (None, best(1.0)), (None, best(1.0))),
    ("chemistry mix, 4 ranks", ("mix", 0, 4), Rate, (None, best(1.0)), (None, best(1.0))),
    ("1 thread puts 8 B", ("threads-put", 1, 2), Rate, (None, best(1.0)), (None, best(1.0))),
    ("2 threads put 8 B", ("threads-put", 2, 2), Rate, (None, best(1.0)), (None, best(1.0))),
    ("4 threads put 8 B", ("threads-put", 4, 2), Rate, (None, best(1.0)), (None, best(1.0))),
    ("passive put, target computes 200 ms", ("passive-put", 8, 2), Time, (None, within(100e3)), (TRIP, within(500e3))),
    ("window allocate + free 1 KiB, 2 ranks", ("win-allocate", KIB, 2), Time, (None, best(1.0)), (None, None)),
    ("window allocate + free 16 MiB, 2 ranks", ("win-allocate", 16 * MIB, 2), Time, (None, best(1.0)), (None, None)),
    (
        "window allocate + free 1 GiB, 2 ranks", ("win-allocate-large", GIB, 2), Time, (None, best(1.0)),
        (None, best(1.0)),
    ),
    ("window allocate + free 1 KiB, 8 ranks", ("win-allocate", KIB, 8), Time, (None, best(0.7)), (None, None)),
    ("window allocate + free 16 MiB, 8 ranks", ("win-allocate", 16 * MIB, 8), Time, (None, best(0.7)), (None, None)),
    (
        "window allocate + free 1 GiB, 8 ranks", ("win-allocate-large", GIB, 8), Time, (None, best(0.7)),
        (None, best(1.0)),
    ),
    ("MPI_Win_create memory: put 8 B + flush", ("created-put", 8, 2), Time, (FLAG, raw(1.5)), (TRIP, raw(1.15))),
    ("MPI_Win_create memory: get 8 B + flush", ("created-get", 8, 2), Time, (FLAG, raw(1.5)), (TRIP, raw(1.1))),
    ("MPI_Win_create memory: fetch_and_op + flush", ("created-fetch", 8, 2), Time, (FLAG, raw(1.5)), (TRIP, raw(1.1))),
    ("message 8 B and back", ("message", 8, 2), Time, (FLAG, None), (TRIP, None)),
    ("8 B to and from 2 neighbors as messages", ("neighbor-messages", 8, 2), Time, (FLAG, None), (TRIP, None)),
    (
        "8 B to and from 2 neighbors, neighbor_alltoall", ("neighbor-alltoall", 8, 2), Time,
        (FLAG, messages(1.0)), (TRIP, messages(1.0)),
    ),
    (
        "4 KiB to and from 2 neighbors as messages", ("neighbor-messages", 4 * KIB, 2), Time, (None, None),
        (trip(4 * KIB), None),
    ),
    (
        "4 KiB to and from 2 neighbors, neighbor_alltoall", ("neighbor-alltoall", 4 * KIB, 2), Time,
        (None, messages(1.0)), (trip(4 * KIB), messages(1.0)),
    ),
    (
        "64 KiB to and from 2 neighbors as messages", ("neighbor-messages", 64 * KIB, 2), Time, (None, None),
        (trip(64 * KIB), None),
    ),
    (
        "64 KiB to and from 2 neighbors, neighbor_alltoall", ("neighbor-alltoall", 64 * KIB, 2), Time,
        (None, messages(1.0)), (trip(64 * KIB), messages(1.0)),
    ),
    ("notified put 8 B and back", ("put-notify", 8, 2), Time, (FLAG, raw(1.3)), (TRIP, put(1.1))),
    ("notified put 64 KiB and back", ("put-notify", 64 * KIB, 2), Time, (None, None), (trip(64 * KIB), put(2.2))),
    ("put 8 B, flush, send, and back", ("put-send", 8, 2), Time, (FLAG, None), (TRIP, None)),
    ("put 64 KiB, flush, send, and back", ("put-send", 64 * KIB, 2), Time, (None, None), (None, None)),
    ("put 8 B, flush, put a flag, flush, and back", ("put-flag", 8, 2), Time, (FLAG, None), (TRIP, None)),
    ("put 64 KiB, flush, put a flag, flush, and back", ("put-flag", 64 * KIB, 2), Time, (None, None), (None, None)),
    ("CPU use of a rank that waits", ("idle-wait", 0, 2), Share, (None, PERCENT), (None, PERCENT)),
    ("CPU use of a rank that is away", ("idle-away", 0, 2), Share, (None, PERCENT), (None, PERCENT)),
];

/// The rows of the tables, in order.
pub(crate) fn rows() -> impl Iterator<Item = Row> {
    LINES.iter().map(|&(title, (case, size, ranks), measure, shm, tcp)| Row {
        title,
        case,
        size,
        ranks,
        measure,
        shm,
        tcp,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_of_a_case_that_is_measured() {
        for row in rows() {
            let case = CASES.iter().find(|case| case.name == row.case);
            assert!(case.is_some_and(|case| case.ranks.contains(&row.ranks)), "{}", row.title);
        }
        assert!(CASES.iter().all(|case| rows().any(|row| row.case == case.name) || case.name == "get-rate"));
    }

    #[test]
    fn sizes_between_small_and_huge_have_rows_that_may_not_be_behind() {
        for case in ["put", "get", "acc-double", "get-acc"] {
            for size in [KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB] {
                let row = rows().find(|row| (row.case, row.size, row.ranks) == (case, size, 2)).expect(case);
                for transport in Transport::ALL {
                    let budget = row.budget(transport);
                    assert!(matches!(budget, Some(Budget::Best(most)) if most <= 1.0), "{}", row.title);
                }
            }
        }
    }

    /// The program's own list, without which a row stays empty unnoticed.
    #[test]
    fn the_program_measures_the_sizes_of_rows_and_limits() {
        let text = include_str!("../../../crates/rma-bench/c/memory.c");
        let list = text.split_once("all[] = {").and_then(|(_, rest)| rest.split_once('}')).expect("a list").0;
        let unit = |word: &str| match word {
            "KIB" => KIB,
            "MIB" => MIB,
            number => number.parse().expect("a number"),
        };
        let measured: Vec<u64> =
            list.split(',').map(|size| size.split('*').map(|word| unit(word.trim())).product()).collect();
        for row in rows().filter(|row| ["put", "get", "acc-double", "get-acc"].contains(&row.case)) {
            assert!(measured.contains(&row.size), "{}", row.title);
            for (_, size) in Transport::ALL.into_iter().filter_map(|transport| row.limit(transport)) {
                assert!(measured.contains(&size), "{}", row.title);
            }
        }
    }

    #[test]
    fn budgets_against_a_limit_have_one() {
        for row in rows() {
            for transport in Transport::ALL {
                let needs = matches!(row.budget(transport), Some(Budget::Raw(_) | Budget::Both(..)));
                assert!(!needs || row.limit(transport).is_some(), "{}", row.title);
            }
        }
    }
}
