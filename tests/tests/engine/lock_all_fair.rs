//! Fairness of lock_all: no lock_all call that begins later passes a waiter in the line for the lock of a
//! mapped rank.

use rma_core::epoch::{Assert, LockKind::Exclusive};
use rma_core::ids::{Disp, Rank};
use rma_core::window::Window;
use rma_tests::world::{Setup, TestRank, into, run};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Not the rank whose lock a lock_all call takes first.
const WANTED: Rank = Rank(1);
/// How long the readers of a fault go on before they say so.
const LIMIT: Duration = Duration::from_secs(30);

/// What the ranks, which are threads here, tell each other.
#[derive(Default)]
struct Flags {
    /// Lock_all epochs that are open.
    open: AtomicU32,
    /// The writer stands in line, or holds the lock.
    is_in_line: AtomicBool,
    /// The writer has held the lock.
    has_held: AtomicBool,
}

#[test]
fn a_writer_is_passed_by_no_later_lock_all_on_mapped_memory() {
    for ranks in 2..=8 {
        check(ranks, |rank, flags| play(rank, flags, rank.allocate(1)));
    }
}

#[test]
fn a_writer_is_passed_by_no_later_lock_all_on_created_windows() {
    for ranks in 2..=8 {
        check(ranks, |rank, flags| {
            let mut memory = [0];
            play(rank, flags, rank.create(&mut memory));
        });
    }
}

fn check(ranks: u32, part: impl Fn(&TestRank, &Flags) + Send + Sync) {
    let flags = Flags::default();
    run(&Setup::direct(ranks), |rank| part(rank, &flags));
    assert!(flags.has_held.load(SeqCst), "the writer of {ranks} ranks never had the lock");
}

fn play(rank: &TestRank, flags: &Flags, window: Window) {
    rank.barrier();
    if rank.me + 1 == rank.size {
        write(rank, flags, &window);
    } else {
        read(flags, &window);
    }
    rank.barrier();
    window.free().unwrap();
}

/// Takes the lock once, behind readers that hold it.
fn write(rank: &TestRank, flags: &Flags, window: &Window) {
    while flags.open.load(SeqCst) == 0 {
        std::thread::yield_now();
    }
    let mut lock = window.begin_lock(Exclusive, WANTED, Assert::NONE).unwrap();
    let mut is_held = window.poll_sync(&mut lock).unwrap();
    flags.has_held.store(is_held, SeqCst);
    flags.is_in_line.store(true, SeqCst);
    while !is_held {
        rank.engine.poll();
        is_held = window.poll_sync(&mut lock).unwrap();
        std::thread::yield_now();
    }
    flags.has_held.store(true, SeqCst);
    window.unlock(WANTED).unwrap();
}

/// Repeats lock_all epochs until the writer has had the lock.
fn read(flags: &Flags, window: &Window) {
    let started = Instant::now();
    while !flags.has_held.load(SeqCst) {
        assert!(started.elapsed() < LIMIT, "the writer waits behind lock_all epochs without end");
        let is_later = flags.is_in_line.load(SeqCst);
        window.lock_all(Assert::NONE).unwrap();
        flags.open.fetch_add(1, SeqCst);
        assert!(!is_later || flags.has_held.load(SeqCst), "a lock_all call has passed a writer in line");
        let mut got = [9];
        window.get(into(&mut got), WANTED, Disp(0)).unwrap();
        window.flush_all().unwrap();
        std::thread::sleep(Duration::from_millis(1));
        flags.open.fetch_sub(1, SeqCst);
        window.unlock_all().unwrap();
    }
}
