//! A waiting rank is woken by the call that ends the wait, not by its caller's next one.
//!
//! The ranks talk outside the library here, so that nothing but the call under test can wake a rank.

use rma_core::epoch::{Assert, LockKind::Exclusive};
use rma_core::ids::Rank;
use rma_tests::world::{Setup, run};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Waits for a rank outside the library.
fn wait_outside(done: &AtomicU32, count: u32) {
    let start = Instant::now();
    while done.load(SeqCst) < count {
        assert!(start.elapsed() < Duration::from_secs(20), "the waiting rank was not woken");
        std::thread::yield_now();
    }
}

#[test]
fn an_unlock_serves_the_waiter_although_the_holder_stays_away() {
    // Ranks that map the lock word. Packet origins need the target's engine, which is driven by its calls alone.
    for setup in [Setup::direct(2), Setup::direct(2).smallest()] {
        for target in [Rank(0), Rank(1)] {
            let (entered, done) = (AtomicU32::new(0), AtomicU32::new(0));
            run(&setup, |rank| {
                let window = rank.allocate(1);
                rank.barrier();
                for round in 1..=20 {
                    if rank.me == 0 {
                        window.lock(Exclusive, target, Assert::NONE).unwrap();
                        entered.store(round, SeqCst);
                        // Time for the other rank to fall asleep in line; how far it comes does not matter.
                        std::thread::sleep(Duration::from_millis(2));
                        window.unlock(target).unwrap();
                        wait_outside(&done, round);
                    } else {
                        wait_outside(&entered, round);
                        window.lock(Exclusive, target, Assert::NONE).unwrap();
                        window.unlock(target).unwrap();
                        done.store(round, SeqCst);
                    }
                }
                rank.barrier();
                window.free().unwrap();
            });
        }
    }
}
