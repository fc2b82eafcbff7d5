//! How a thread waits for a word that another process holds for a moment: it spins, then gives its core away, and in the end
//! sleeps and asks whether the holder still lives.
//!
//! The holder of such a word never waits while it has it, so the moment is short unless the process is
//! stopped or killed in the middle. A stopped one may stay so for hours, in which no core is to be kept busy.
//! The waiting thread may be the engine's own, with the engine's lock held, and then it receives no reports
//! of deaths; so it asks the host ([`crate::host::Vitals`]). What a dead holder was changing is half done, as
//! after any death.

use super::shim::{AtomicU64, Ordering, sleep};
use super::state::Holder;
use crate::strategy::{Counted, Next, rest};
use std::time::Duration;

/// Tries before the processor is given away: the holder may need it, ranks may outnumber cores.
const SPINS: u32 = 64;

/// Yields before the first sleep: a holder that lost its core has run again by then, unless it is stopped or
/// dead.
const YIELDS: u32 = 2000;

/// The first sleep, and the longest: each is twice the one before. The holder is asked after behind each, which costs a system
/// call.
const FIRST_SLEEP: Duration = Duration::from_micros(100);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// Waits of a [`Pause`] before the first sleep.
pub(super) const AWAKE: u32 = SPINS + YIELDS;

/// What a thread has done so far to wait.
#[derive(Debug)]
pub(super) struct Pause {
    strategy: Counted,
    sleep: Duration,
}

impl Default for Pause {
    fn default() -> Self {
        // The model checker has no processor to let rest.
        let strategy = Counted::new(0, if cfg!(all(test, loom)) { 0 } else { SPINS }, YIELDS);
        Self { strategy, sleep: Duration::ZERO }
    }
}

impl Pause {
    /// Waits a little; answers whether it is time to ask after the holder.
    pub(super) fn wait(&mut self) -> bool {
        let next = self.strategy.observe();
        if next != Next::Sleep {
            rest(next);
            return self.strategy == Counted::default();
        }
        self.sleep = (2 * self.sleep).clamp(FIRST_SLEEP, LONGEST_SLEEP);
        sleep(self.sleep);
        true
    }
}

/// Takes a word that is 0 when free and else its holder's code. The caller orders what it guards: the take is an acquire.
#[inline]
pub(super) fn take(word: &AtomicU64, holder: Holder, has_ended: &dyn Fn(u64) -> bool) {
    let mut pause = Pause::default();
    while word.compare_exchange_weak(0, holder.code(), Ordering::Acquire, Ordering::Relaxed).is_err() {
        if pause.wait() {
            free_of_ended(word, has_ended);
        }
    }
}

/// Frees a word in the place of a holder that has ended.
#[cold]
fn free_of_ended(word: &AtomicU64, has_ended: &dyn Fn(u64) -> bool) {
    let code = word.load(Ordering::Relaxed);
    if code != 0 && has_ended(code) {
        // Fails when another has freed it before: no code comes back after its process has ended. As the holder's own release.
        let _ = word.compare_exchange(code, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::host::clock::processor_time;
    use crate::ids::Peer;
    use std::thread;

    /// A holder that is stopped lives, so it is waited for, however long; but not by a busy core.
    #[test]
    fn a_wait_for_a_stopped_holder_leaves_the_core_alone_and_goes_on_at_once() {
        let (stopped, waits) = (Holder::new(Peer(0)).unwrap(), Holder::new(Peer(1)).unwrap());
        let word = AtomicU64::new(stopped.code());
        let used = thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let before = processor_time().unwrap();
                take(&word, waits, &|code| {
                    assert_eq!(code, stopped.code());
                    false
                });
                processor_time().unwrap() - before
            });
            thread::sleep(Duration::from_millis(500));
            word.store(0, Ordering::Release);
            waiter.join().unwrap()
        });
        assert_eq!(word.load(Ordering::Relaxed), waits.code());
        assert!(used < Duration::from_millis(100), "of 500 ms, {used:?} were spent on waiting");
    }

    #[test]
    fn a_wait_for_a_dead_holder_takes_its_place() {
        let (dead, waits) = (Holder::new(Peer(0)).unwrap(), Holder::new(Peer(1)).unwrap());
        let word = AtomicU64::new(dead.code());
        take(&word, waits, &|code| code == dead.code());
        assert_eq!(word.load(Ordering::Relaxed), waits.code());
    }
}
