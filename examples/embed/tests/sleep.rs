//! Sleeping outside the engine: nothing that a sleeper waits for is missed, and an idle engine wakes no
//! thread.

use embed::Mini;
use rma_core::epoch::{Assert, LockKind};
use rma_core::ids::{Disp, Rank};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::window::WindowSpec;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::thread;

/// Whether the engine's descriptor becomes readable within so many milliseconds.
fn wakes(mini: &Mini, limit_ms: i64) -> bool {
    let limit = Timespec { tv_sec: limit_ms / 1000, tv_nsec: limit_ms % 1000 * 1_000_000 };
    poll(&mut [PollFd::new(&mini.engine.wait_descriptor().unwrap(), PollFlags::IN)], Some(&limit)).unwrap()
        > 0
}

#[test]
fn an_idle_engine_stays_asleep_and_a_bell_is_heard_once() {
    Mini::run(1, |mini| {
        while mini.engine.poll() {}
        // An earlier wake-up may still be in the descriptor.
        drop(mini.engine.arm(mini.engine.news()).expect("nothing is to be done"));
        let news = mini.engine.news();
        let wait = mini.engine.arm(news).expect("nothing is to be done");
        assert!(!wakes(mini, 50), "no wake-up came");
        mini.engine.wake_handle().wake();
        assert!(wakes(mini, 10_000), "the wake-up came");
        drop(wait);
        let news = mini.engine.news();
        let _wait = mini.engine.arm(news).expect("nothing is to be done");
        assert!(!wakes(mini, 50), "the bell was heard already");
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_bell_before_the_first_sleep_is_heard() {
    Mini::run(1, |mini| {
        while mini.engine.poll() {}
        let news = mini.engine.news();
        mini.engine.wake_handle().wake();
        assert!(mini.engine.arm(news).is_none(), "a wake-up came since the look");
        Ok(())
    })
    .unwrap();
}

#[test]
fn something_that_moved_since_the_look_keeps_from_sleeping() {
    Mini::run(2, |mini| {
        let news = mini.engine.news();
        mini.barrier()?;
        // The barrier was made of letters of Mini's; the window below is what moves the engine.
        let mut creation =
            mini.engine.begin_window(mini.world().clone(), WindowSpec::Allocate { len: 8, unit: 8 })?;
        assert!(mini.engine.arm(mini.engine.news()).is_none(), "a creation has just begun");
        let window = mini.until(|| creation.poll())?;
        window.lock(LockKind::Shared, Rank(1), Assert::NONE)?;
        static ONE: [u8; 8] = [1; 8];
        // SAFETY: a static is always readable.
        let one = unsafe { ReadSpan::new(ONE.as_ptr(), ONE.len()) };
        mini.until(|| Ok(window.try_put(one, Rank(1), Disp(0))?.then_some(())))?;
        let mut unlock = window.begin_unlock(Rank(1))?;
        mini.until(|| Ok(window.poll_sync(&mut unlock)?.then_some(())))?;
        if mini.world().me() == Rank(0) {
            assert!(mini.engine.arm(news).is_none(), "packets have come since");
        }
        mini.barrier()?;
        let mut free = window.begin_free().map_err(|(_, error)| error)?;
        mini.until(|| Ok(free.poll()?.then_some(())))
    })
    .unwrap();
}

/// Four threads of a rank wait outside, each for an answer of its own, while any of them may take the packets of all.
#[test]
fn threads_that_sleep_outside_miss_nothing() {
    const ROUNDS: u64 = 200;
    Mini::run(2, |mini| {
        let mut creation =
            mini.engine.begin_window(mini.world().clone(), WindowSpec::Allocate { len: 64, unit: 8 })?;
        let window = mini.until(|| creation.poll())?;
        let other = Rank(1 - mini.world().me().0);
        let mut lock = window.begin_lock_all(Assert::NONE)?;
        mini.until(|| Ok(window.poll_sync(&mut lock)?.then_some(())))?;
        thread::scope(|scope| {
            for at in 0..4 {
                let window = &window;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let (written, mut found) = ([round; 1], [u64::MAX; 1]);
                        // SAFETY: both outlive the flushes that complete the operations on them.
                        let (from, to) = unsafe {
                            (
                                ReadSpan::new(written.as_ptr().cast(), 8),
                                WriteSpan::new(found.as_mut_ptr().cast(), 8),
                            )
                        };
                        let flush = || {
                            let mut flush = window.begin_flush(other)?;
                            mini.until(|| Ok(window.poll_sync(&mut flush)?.then_some(())))
                        };
                        mini.until(|| Ok(window.try_put(from, other, Disp(at))?.then_some(()))).unwrap();
                        flush().unwrap();
                        mini.until(|| Ok(window.try_get(to, other, Disp(at))?.then_some(()))).unwrap();
                        flush().unwrap();
                        assert_eq!(found, [round]);
                    }
                });
            }
        });
        let mut unlock = window.begin_unlock_all()?;
        mini.until(|| Ok(window.poll_sync(&mut unlock)?.then_some(())))?;
        mini.barrier()?;
        let mut free = window.begin_free().map_err(|(_, error)| error)?;
        mini.until(|| Ok(free.poll()?.then_some(())))
    })
    .unwrap();
}
