//! Ranks that make no call any more (`Engine::leave_windows`): a rank that sleeps in a wait for one is woken, and told.

use rma_core::Result;
use rma_core::epoch::{Assert, LockKind};
use rma_core::error::ErrorClass;
use rma_core::ids::{Disp, Rank};
use rma_core::notify::{self, NotificationRequest, Notifications};
use rma_core::window::Window;
use rma_tests::world::{Setup, TestRank, from, into, local, run};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Long enough for any machine.
const LIMIT: Duration = Duration::from_secs(20);
/// Shorter than a sleep that nothing ends.
const WOKEN: Duration = Duration::from_secs(10);

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LIMIT, "{what}");
        std::thread::yield_now();
    }
}

/// Rank 0 sleeps in this call when rank 1 leaves.
fn left_in(call: impl Fn(&Window) -> Result<()> + Sync) {
    let is_asleep = AtomicBool::new(false);
    run(&Setup::direct(2), |rank: &TestRank| {
        let window = rank.allocate(1);
        notify::set_counters(&window, 1).unwrap();
        if rank.me == 1 {
            until("rank 0 does not fall asleep", || is_asleep.load(SeqCst));
            rank.engine.leave_windows();
            rank.barrier();
        } else {
            let slept = rank.engine.counters().sleeps;
            let error = std::thread::scope(|scope| {
                let waiter = scope.spawn(|| call(&window));
                until("the call does not sleep", || rank.engine.counters().sleeps > slept);
                is_asleep.store(true, SeqCst);
                let start = Instant::now();
                let error = waiter.join().unwrap().unwrap_err();
                assert!(start.elapsed() < WOKEN, "the sleep ends by itself, not by a wake-up");
                error
            });
            assert_eq!(error.class(), ErrorClass::ProcAborted, "{error}");
            assert!(error.to_string().contains("rank 1 has ended its part"), "{error}");
            // It serves others still.
            window.lock(LockKind::Exclusive, Rank(1), Assert::NONE).unwrap();
            window.put(from(&[7u64]), Rank(1), Disp(0)).unwrap();
            window.unlock(Rank(1)).unwrap();
            rank.barrier();
        }
        if rank.me == 1 {
            assert_eq!(local(&window, 0), 7);
        }
        window.free().unwrap();
    });
}

#[test]
fn a_fence_ends() {
    left_in(|window| window.fence(Assert::NONE));
}

#[test]
fn a_start_ends_and_opens_no_epoch() {
    left_in(|window| {
        let started = window.start(&[Rank(1)], Assert::NONE);
        assert_eq!(window.complete().unwrap_err().class(), ErrorClass::RmaSync);
        started
    });
}

#[test]
fn an_exposure_ends() {
    left_in(|window| {
        window.post_to(&[Rank(1)], Assert::NONE)?;
        let waited = window.wait();
        assert_eq!(window.wait().unwrap_err().class(), ErrorClass::RmaSync, "it is over");
        waited
    });
}

#[test]
fn a_wait_for_a_counter_ends() {
    left_in(|window| Notifications::of(window).wait(0, 1).map(drop));
}

#[test]
fn a_request_for_a_counter_ends() {
    left_in(|window| NotificationRequest::new(window, 0, 1)?.wait());
    run(&Setup::direct(2), |rank| {
        let window = rank.allocate(1);
        notify::set_counters(&window, 1).unwrap();
        if rank.me == 1 {
            rank.engine.leave_windows();
        }
        rank.barrier();
        if rank.me == 0 {
            let reached = |number| NotificationRequest::new(&window, 0, number).unwrap().is_complete();
            assert_eq!(reached(0), Ok(true), "what has come counts");
            assert_eq!(reached(1).unwrap_err().class(), ErrorClass::ProcAborted);
        }
        window.free().unwrap();
    });
}

/// Two others, of which one has come.
#[test]
fn what_has_been_done_before_counts() {
    run(&Setup::direct(3), |rank| {
        let window = rank.allocate(1);
        if rank.me == 1 {
            window.start(&[Rank(0)], Assert::NONE).unwrap();
            window.put(from(&[5u64]), Rank(0), Disp(0)).unwrap();
            window.complete().unwrap();
            rank.engine.leave_windows();
            rank.barrier();
            rank.barrier();
        } else {
            if rank.me == 0 {
                window.post_to(&[Rank(1), Rank(2)], Assert::NONE).unwrap();
            }
            rank.barrier();
            if rank.me == 2 {
                window.start(&[Rank(0)], Assert::NONE).unwrap();
                window.complete().unwrap();
            } else {
                window.wait().unwrap();
                assert_eq!(local(&window, 0), 5);
            }
            rank.barrier();
        }
        window.free().unwrap();
    });
}

/// Rank 1 leaves with locks on rank 0's memory; ranks 0 and 2 get it, behind what rank 1 has put there.
fn left_with(locks: impl Fn(&Window) + Sync) {
    for setup in Setup::all(3) {
        run(&setup, |rank| {
            let window = rank.allocate(2);
            if rank.me == 1 {
                locks(&window);
                window.put(from(&[5u64]), Rank(0), Disp(1)).unwrap();
                window.flush(Rank(0)).unwrap();
                window.put(from(&[6u64]), Rank(0), Disp(0)).unwrap();
            }
            rank.barrier();
            if rank.me == 1 {
                rank.engine.leave_windows();
            } else {
                window.lock(LockKind::Exclusive, Rank(0), Assert::NONE).unwrap();
                let mut put = [0u64; 2];
                window.get(into(&mut put), Rank(0), Disp(0)).unwrap();
                window.flush(Rank(0)).unwrap();
                assert_eq!(put, [6, 5], "rank {}", rank.me);
                window.unlock(Rank(0)).unwrap();
            }
            rank.barrier();
            window.free().unwrap();
        });
    }
}

#[test]
fn a_lock_that_is_held_is_given_back() {
    left_with(|window| window.lock(LockKind::Exclusive, Rank(0), Assert::NONE).unwrap());
}

#[test]
fn locks_of_several_ranks_are_given_back() {
    left_with(|window| {
        (0..3).for_each(|rank| window.lock(LockKind::Exclusive, Rank(rank), Assert::NONE).unwrap());
    });
}

#[test]
fn a_lock_on_all_is_given_back() {
    left_with(|window| window.lock_all(Assert::NONE).unwrap());
}
