//! Yields of waits, and when waits do not yield.
//!
//! Where ranks outnumber cores a yield costs less than a sleep with its wake-up, as long as it goes to
//! another rank that waits as well. A yield to a process that computes lasts until the system takes the core
//! from that one, milliseconds, where a sleeper would have had the core back as soon as there was news. So
//! after several long yields waits stop yielding for a while, and sleep at once.
//!
//! One long yield says little: among ranks that all yield the system now and then lets one wait that has
//! yielded often. If that one slept instead, the others' yields would become longer, they would sleep as
//! well, and every answer would cost a wake-up. So it takes more than half as many long yields as short ones
//! to be evidence of a process that computes, and after a while one more is enough, as long as short ones
//! have not spoken against it.

use super::{Next, rest};
use crate::host::Host;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A yield that lasts longer may have gone to a process that computes.
const LONG: Duration = Duration::from_millis(1);
/// Waits that avoid yields do so for so many times as long as the last one was.
const REST: u32 = 16;
/// A yield that lasted longer counts as this long: the process was stopped, or the machine.
const LONGEST: Duration = Duration::from_millis(100);
/// What a long yield adds to the evidence, of which a short one takes one.
const WEIGHT: u32 = 2;
/// Evidence from which on a long yield is the last one for a while, and the most that is kept.
const ENOUGH: u32 = 2 * WEIGHT;

/// A yield that is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Yielded {
    pub(crate) length: Duration,
    /// Whether no other process has had it, where that was measured.
    pub(crate) was_own: Option<bool>,
}

/// The yields of a process. Several threads change it without a lock: what one loses comes again.
#[derive(Debug, Default)]
pub(crate) struct YieldHistory {
    /// Until when waits do not yield, in nanoseconds of the host's clock.
    avoided_until: AtomicU64,
    evidence: AtomicU32,
    /// Yields made without the engine's lock.
    uncounted: AtomicU64,
}

impl YieldHistory {
    pub(crate) fn avoids_yields(&self, now: Duration) -> bool {
        (now.as_nanos() as u64) < self.avoided_until.load(Relaxed)
    }

    /// Yields, without the engine's lock, at the time that the caller has just read; measures it if that is asked for.
    pub(crate) fn yield_measured(&self, host: &dyn Host, began: Duration, is_measured: bool) -> Yielded {
        let before = if is_measured { host.processor_time() } else { None };
        rest(Next::Yield);
        let now = host.now();
        let length = now.saturating_sub(began);
        self.on_yield(now, length);
        let own = before.and_then(|before| Some(host.processor_time()?.saturating_sub(before)));
        Yielded { length, was_own: own.map(|own| own * 4 >= length * 3) }
    }

    /// Yields without a step that counts it, unless yields are to be avoided now; says whether it has.
    pub(crate) fn try_yield(&self, host: &dyn Host) -> bool {
        let began = host.now();
        if self.avoids_yields(began) {
            return false;
        }
        self.uncounted.fetch_add(1, Relaxed);
        self.yield_measured(host, began, false);
        true
    }

    /// Yields that no step has counted.
    pub(crate) fn uncounted(&self) -> u64 {
        self.uncounted.load(Relaxed)
    }

    fn on_yield(&self, now: Duration, length: Duration) {
        let evidence = self.evidence.load(Relaxed);
        if length <= LONG {
            if evidence > 0 {
                self.evidence.store(evidence - 1, Relaxed);
            }
            return;
        }
        self.evidence.store((evidence + WEIGHT).min(ENOUGH), Relaxed);
        if evidence + WEIGHT >= ENOUGH {
            self.avoided_until.store((now + length.min(LONGEST) * REST).as_nanos() as u64, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(50);
    const SLICE: Duration = Duration::from_millis(3);

    /// The times after yields of these lengths, one behind the other, at which yields are avoided.
    fn avoided(history: &YieldHistory, lengths: &[Duration]) -> Vec<bool> {
        let mut now = Duration::from_nanos(history.avoided_until.load(Relaxed));
        lengths
            .iter()
            .map(|length| {
                now += *length;
                history.on_yield(now, *length);
                history.avoids_yields(now)
            })
            .collect()
    }

    #[test]
    fn yields_are_avoided_when_they_are_long_again_and_again() {
        let history = YieldHistory::default();
        assert_eq!(avoided(&history, &[SLICE, SLICE]), [false, true]);
        let end = Duration::from_nanos(history.avoided_until.load(Relaxed));
        assert_eq!(end, SLICE * (2 + REST), "for some times as long as the last one was");
        assert!(!history.avoids_yields(end));
    }

    #[test]
    fn after_a_while_one_more_is_enough() {
        let history = YieldHistory::default();
        avoided(&history, &[SLICE, SLICE]);
        assert_eq!(avoided(&history, &[SLICE]), [true]);
        assert_eq!(
            avoided(&history, &[SHORT, SLICE]),
            [false, true],
            "one short yield does not make up for that"
        );
    }

    #[test]
    fn after_a_stop_waits_yield_again_soon() {
        let history = YieldHistory::default();
        let hour = Duration::from_secs(3600);
        assert_eq!(avoided(&history, &[hour, hour]), [false, true]);
        assert!(!history.avoids_yields(2 * hour + REST * LONGEST));
    }

    #[test]
    fn short_yields_speak_against_long_ones() {
        let history = YieldHistory::default();
        for _ in 0..10 {
            assert_eq!(avoided(&history, &[SLICE, SHORT, SHORT]), [false; 3]);
        }
        avoided(&history, &[SLICE, SLICE]);
        avoided(&history, &[SHORT; 4]);
        assert_eq!(avoided(&history, &[SLICE]), [false], "all is forgotten");
    }
}
