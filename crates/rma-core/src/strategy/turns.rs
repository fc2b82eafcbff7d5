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

/// A turn that lasts longer may have gone to a process that computes.
const LONG: Duration = Duration::from_millis(1);
/// When turns are kept, they are for so many times as long as the last one was.
const REST: u32 = 16;
/// A turn that lasted longer counts as this long: the process was stopped, or the machine.
const LONGEST: Duration = Duration::from_millis(100);
/// What a long turn adds to the evidence, of which a short one takes one.
const WEIGHT: u32 = 2;
/// Evidence from which on a long turn is the last one for a while, and the most that is kept.
const ENOUGH: u32 = 2 * WEIGHT;

/// A turn that was given away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) length: Duration,
    /// Whether no other process has had it, where that was measured.
    pub(crate) was_own: Option<bool>,
}

/// The turns of a process. Several threads change it without a lock: what one loses comes again.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Until when none is given away, in nanoseconds of the host's clock.
    kept_until: AtomicU64,
    evidence: AtomicU32,
    /// Turns given away without the engine's lock.
    outside: AtomicU64,
}

impl Turns {
    pub(crate) fn are_kept(&self, now: Duration) -> bool {
        (now.as_nanos() as u64) < self.kept_until.load(Relaxed)
    }

    /// Yields, without the engine's lock, at the time that the caller has just read; measures it if that is asked for.
    pub(crate) fn give(&self, host: &dyn Host, given: Duration, is_measured: bool) -> Turn {
        let before = if is_measured { host.processor_time() } else { None };
        rest(Next::Yield);
        let now = host.now();
        let length = now.saturating_sub(given);
        self.on_turn(now, length);
        let own = before.and_then(|before| Some(host.processor_time()?.saturating_sub(before)));
        Turn { length, was_own: own.map(|own| own * 4 >= length * 3) }
    }

    /// Yields without a step that counts it, unless turns are kept now; says whether it has.
    pub(crate) fn give_outside(&self, host: &dyn Host) -> bool {
        let given = host.now();
        if self.are_kept(given) {
            return false;
        }
        self.outside.fetch_add(1, Relaxed);
        self.give(host, given, false);
        true
    }

    /// Turns that no step has counted.
    pub(crate) fn outside(&self) -> u64 {
        self.outside.load(Relaxed)
    }

    fn on_turn(&self, now: Duration, turn: Duration) {
        let evidence = self.evidence.load(Relaxed);
        if turn <= LONG {
            if evidence > 0 {
                self.evidence.store(evidence - 1, Relaxed);
            }
            return;
        }
        self.evidence.store((evidence + WEIGHT).min(ENOUGH), Relaxed);
        if evidence + WEIGHT >= ENOUGH {
            self.kept_until.store((now + turn.min(LONGEST) * REST).as_nanos() as u64, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(50);
    const SLICE: Duration = Duration::from_millis(3);

    /// The times after turns of these lengths, one behind the other, at which turns are kept.
    fn kept(turns: &Turns, lengths: &[Duration]) -> Vec<bool> {
        let mut now = Duration::from_nanos(turns.kept_until.load(Relaxed));
        lengths
            .iter()
            .map(|length| {
                now += *length;
                turns.on_turn(now, *length);
                turns.are_kept(now)
            })
            .collect()
    }

    #[test]
    fn turns_are_kept_when_they_are_long_again_and_again() {
        let turns = Turns::default();
        assert_eq!(kept(&turns, &[SLICE, SLICE]), [false, true]);
        let end = Duration::from_nanos(turns.kept_until.load(Relaxed));
        assert_eq!(end, SLICE * (2 + REST), "for some times as long as the last one was");
        assert!(!turns.are_kept(end));
    }

    #[test]
    fn after_a_while_one_more_is_enough() {
        let turns = Turns::default();
        kept(&turns, &[SLICE, SLICE]);
        assert_eq!(kept(&turns, &[SLICE]), [true]);
        assert_eq!(kept(&turns, &[SHORT, SLICE]), [false, true], "one short turn does not make up for that");
    }

    #[test]
    fn a_process_that_was_stopped_gives_turns_again_soon() {
        let turns = Turns::default();
        let hour = Duration::from_secs(3600);
        assert_eq!(kept(&turns, &[hour, hour]), [false, true]);
        assert!(!turns.are_kept(2 * hour + REST * LONGEST));
    }

    #[test]
    fn short_turns_speak_against_long_ones() {
        let turns = Turns::default();
        for _ in 0..10 {
            assert_eq!(kept(&turns, &[SLICE, SHORT, SHORT]), [false; 3]);
        }
        kept(&turns, &[SLICE, SLICE]);
        kept(&turns, &[SHORT; 4]);
        assert_eq!(kept(&turns, &[SLICE]), [false], "all is forgotten");
    }
}
