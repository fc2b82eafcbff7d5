//! Decision 2 of the lessons: a shared request of an origin that holds another lock of the window passes the line.
//!
//! Y reads A, then B; Z reads B, then A; X wants A, and W wants B, exclusively. Strict order alone deadlocks: Y waits behind
//! W, which waits for Z, which waits behind X, which waits for Y.

use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::window::Window;
use rma_tests::world::{Setup, TestRank, from, into, run};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const A: Rank = Rank(4);
const B: Rank = Rank(5);

/// How the readers lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    /// Each target by itself.
    OneByOne,
    /// With lock_all, which asks for locks as operations need them.
    AllAtOnce,
}

#[test]
fn readers_that_hold_locks_pass_waiting_writers() {
    Setup::all(6).iter().for_each(|setup| run_four(setup, Readers::OneByOne));
}

#[test]
fn epochs_of_lock_all_pass_waiting_writers() {
    Setup::all(6).iter().for_each(|setup| run_four(setup, Readers::AllAtOnce));
}

fn run_four(setup: &Setup, readers: Readers) {
    let step = AtomicU64::new(0);
    run(setup, |rank| {
        let window = rank.allocate(2);
        rank.barrier();
        match rank.me {
            0 => read_both(rank, &window, readers, (A, B), &step),
            1 => read_both(rank, &window, readers, (B, A), &step),
            2 => write(rank, &window, A, &step),
            3 => write(rank, &window, B, &step),
            _ => {}
        }
        rank.barrier();
        window.free().unwrap();
    });
}

fn reach(rank: &TestRank, step: &AtomicU64, wanted: u64) {
    while step.load(SeqCst) < wanted {
        rank.engine.poll();
        std::thread::yield_now();
    }
}

fn read_both(
    rank: &TestRank,
    window: &Window,
    readers: Readers,
    (first, second): (Rank, Rank),
    step: &AtomicU64,
) {
    let read = |target: Rank| {
        let mut got = [9];
        if readers == Readers::OneByOne {
            window.lock(Shared, target, Assert::NONE).unwrap();
        }
        window.get(into(&mut got), target, Disp(0)).unwrap();
        window.flush(target).unwrap();
    };
    if readers == Readers::AllAtOnce {
        window.lock_all(Assert::NONE).unwrap();
    }
    read(first);
    step.fetch_add(1, SeqCst);
    // Both writers wait in line.
    reach(rank, step, 4);
    read(second);
    match readers {
        Readers::AllAtOnce => window.unlock_all().unwrap(),
        Readers::OneByOne => [first, second].into_iter().for_each(|target| window.unlock(target).unwrap()),
    }
}

fn write(rank: &TestRank, window: &Window, target: Rank, step: &AtomicU64) {
    reach(rank, step, 2);
    let value = [7];
    let mut lock = window.begin_lock(Exclusive, target, Assert::NONE).unwrap();
    if !window.is_direct(target) {
        assert!(window.poll_sync(&mut lock).unwrap());
        window.put(from(&value), target, Disp(1)).unwrap();
        lock = window.begin_flush(target).unwrap();
    }
    // The request leaves, and stands in line before the readers go on.
    for _ in 0..200 {
        rank.engine.poll();
        assert!(!window.poll_sync(&mut lock).unwrap(), "a reader holds the lock");
        std::thread::yield_now();
    }
    step.fetch_add(1, SeqCst);
    while !window.poll_sync(&mut lock).unwrap() {
        rank.engine.poll();
        std::thread::yield_now();
    }
    window.unlock(target).unwrap();
}
