//! Whether what this process waits for needs the very core that it runs on.
//!
//! A scheduler may leave two processes that answer each other on one core, above all where others keep the rest busy. Then a
//! wait that spins keeps its own answer from being made. No process can ask where the other one is, but turns tell: a short one
//! that went to somebody, and had brought packets when it came back, went to whom this process waits for. After [`ENOUGH`]
//! of these a wait does not spin but gives its turn away at once, and sleeps when that is of no use.
//!
//! A turn that nobody took, a long one, which went to a process that computes, and news that come while a wait spins tell that
//! the other one is elsewhere by now; so does a sleep, which turns should have made needless: so waits try spinning again
//! also where somebody takes every turn.
//!
//! Only a guess of one process about itself: wrong, it costs a turn or a sleep, never news.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// A shorter turn was nobody else's: two switches and an answer take longer.
const TAKEN_TURN: Duration = Duration::from_micros(2);
/// A longer turn went to a process that computes, or to more than one.
const LONG_TURN: Duration = Duration::from_micros(200);
/// Evidence from which on a wait acts, and the most that is kept, so that little is needed to change its mind.
const ENOUGH: u32 = 2;
const MOST: u32 = 4;

/// What speaks for a shared core. Waits of several threads change it without a lock: one that is lost comes again.
#[derive(Debug)]
pub(super) struct Sharing(AtomicU32);

impl Sharing {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Whether waits act on it.
    pub(super) fn is_likely(&self) -> bool {
        self.0.load(Relaxed) >= ENOUGH
    }

    /// A wait has made a step, behind a turn that it has given away for so long, or none; `was_idle` says that the step before
    /// had moved nothing, and no sleep was in between.
    pub(super) fn on_step(&self, turn: Option<Duration>, has_moved: bool, was_idle: bool) {
        match turn {
            Some(turn) => self.on_turn(turn, has_moved),
            None if has_moved && was_idle => self.on_elsewhere(),
            None => {}
        }
    }

    fn on_turn(&self, turn: Duration, has_news: bool) {
        if !(TAKEN_TURN..=LONG_TURN).contains(&turn) {
            self.on_elsewhere();
        } else if has_news {
            self.0.store((self.0.load(Relaxed) + 1).min(MOST), Relaxed);
        }
    }

    /// Turns have not brought what a wait waits for, or news came without one.
    pub(super) fn on_elsewhere(&self) {
        let evidence = self.0.load(Relaxed);
        if evidence > 0 {
            self.0.store(evidence - 1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKEN: Duration = Duration::from_micros(10);
    const OWN: Duration = Duration::from_nanos(400);

    #[test]
    fn turns_that_bring_news_make_a_shared_core_likely() {
        let sharing = Sharing::new();
        sharing.on_turn(TAKEN, true);
        assert!(!sharing.is_likely(), "once may be chance");
        sharing.on_turn(TAKEN, false);
        sharing.on_turn(TAKEN, true);
        assert!(sharing.is_likely());
    }

    #[test]
    fn turns_of_nobody_and_of_who_computes_and_news_without_one_make_it_unlikely() {
        let contrary: [fn(&Sharing); 3] = [
            |sharing| sharing.on_turn(OWN, true),
            |sharing| sharing.on_turn(LONG_TURN + OWN, true),
            Sharing::on_elsewhere,
        ];
        for tell in contrary {
            let sharing = Sharing::new();
            (0..100).for_each(|_| sharing.on_turn(TAKEN, true));
            assert_eq!((0..3).map(|_| tell(&sharing)).filter(|()| sharing.is_likely()).count(), 2);
            (0..100).for_each(|_| tell(&sharing));
            (0..2).for_each(|_| sharing.on_turn(TAKEN, true));
            assert!(sharing.is_likely());
        }
    }
}
