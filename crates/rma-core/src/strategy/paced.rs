//! The waits that drive the engine: what comes behind a step that has moved nothing.
//!
//! ```text
//!                 long enough, or the core is shared              yields used up, or avoided
//!    Spinning ─────────────────────────────────────▶ Yielding ──────────────────────────────▶ Announcing ──▶ Sleeping
//!      │    a yield at times: Yield                      Yield                                   Step           Sleep
//!      └─ Spin
//!
//!    A step that moves something leads back to the start, and renews the number of yields. A sleep leads back to the start.
//! ```
//!
//! *Announcing*: a store to shared memory wakes no thread by itself, so one more round is made in which the
//! wait announces to others that it is about to sleep. A wait that neither spins nor yields announces in each
//! round.

use super::Next;
use std::time::Duration;

/// How long a wait spins between two yields: short for a process that shares the core with what it waits for,
/// long beside the system call.
const SPIN_BETWEEN_YIELDS: Duration = Duration::from_micros(6);

/// What a wait sees behind a step that has moved nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    pub(crate) now: Duration,
    /// How long waits spin now.
    pub(crate) spin: Duration,
    /// What is waited for may need this core.
    pub(crate) is_shared: bool,
    /// Yields are of no use now.
    pub(crate) avoids_yields: bool,
    /// Something was begun that no step has tried to send yet.
    pub(crate) is_due: bool,
}

/// How far a wait has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paced {
    /// Yields between spinning and sleeping, and how many of them are left.
    yields: u64,
    left: u64,
    /// Since when nothing moves.
    idle_since: Option<Duration>,
    next_yield: Option<Duration>,
    announces_at_once: bool,
    is_announced: bool,
}

/// Whether a wait begins with a yield: where waits do not spin but yield.
pub(crate) fn begins_with_yield(spin: Duration, yields: u64, is_shared: bool) -> bool {
    yields > 0 && (spin.is_zero() || is_shared)
}

impl Paced {
    /// A wait that spins for so long and yields so often.
    pub(crate) fn new(spin: Duration, yields: u64) -> Self {
        let announces_at_once = spin.is_zero() && yields == 0;
        let is_announced = announces_at_once;
        Self { yields, left: yields, idle_since: None, next_yield: None, announces_at_once, is_announced }
    }

    /// Whether the wait looks again before it sleeps.
    pub(crate) fn looks_again(&self) -> bool {
        !self.is_announced
    }

    /// Whether nothing has moved in the last step, and no sleep was in between.
    pub(crate) fn was_idle(&self) -> bool {
        self.idle_since.is_some()
    }

    /// A step has moved something.
    pub(crate) fn on_moved(&mut self) {
        self.left = self.yields;
        self.on_slept();
    }

    /// The wait has slept.
    pub(crate) fn on_slept(&mut self) {
        (self.idle_since, self.next_yield) = (None, None);
        self.is_announced = self.announces_at_once;
    }

    /// A step has moved nothing: what comes next.
    pub(crate) fn observe(&mut self, observed: Observed) -> Next {
        let Observed { now, spin, is_shared, avoids_yields, is_due } = observed;
        let spins = now < *self.idle_since.get_or_insert(now) + spin && !is_shared;
        let has_spun = now >= *self.next_yield.get_or_insert(now + SPIN_BETWEEN_YIELDS);
        let may_yield = if spins { has_spun && self.yields > 0 } else { self.left > 0 };
        if may_yield && !avoids_yields {
            self.left -= u64::from(!spins);
            self.next_yield = None;
            return Next::Yield;
        }
        if spins {
            return Next::Spin;
        }
        // What was begun in this round has not been sent yet: a wait sleeps only after a round without news.
        if is_due {
            return Next::Look;
        }
        let was_announced = std::mem::replace(&mut self.is_announced, true);
        if was_announced { Next::Sleep } else { Next::Look }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: Duration = Duration::from_micros(20);

    fn at(micros: u64) -> Observed {
        let now = Duration::from_micros(micros);
        Observed { now, spin: SPIN, is_shared: false, avoids_yields: false, is_due: false }
    }

    fn all(paced: &mut Paced, all_observed: impl IntoIterator<Item = Observed>) -> Vec<Next> {
        all_observed.into_iter().map(|observed| paced.observe(observed)).collect()
    }

    #[test]
    fn a_wait_spins_with_yields_in_between_then_yields_then_announces_and_sleeps() {
        use Next::{Look, Sleep, Spin, Yield};
        let mut paced = Paced::new(SPIN, 2);
        let found = all(&mut paced, [0, 3, 6, 7, 13, 19, 20, 21].map(at));
        assert_eq!(found, [Spin, Spin, Yield, Spin, Yield, Spin, Yield, Yield]);
        assert!(paced.looks_again() && paced.was_idle());
        assert_eq!(paced.observe(at(22)), Look);
        assert!(!paced.looks_again(), "the sleep is announced in this round");
        assert_eq!(paced.observe(at(23)), Sleep);
        paced.on_slept();
        assert!(paced.looks_again() && !paced.was_idle());
        // It spins anew, but its yields are used up.
        assert_eq!(all(&mut paced, [50, 70, 71].map(at)), [Spin, Look, Sleep]);
        paced.on_moved();
        assert_eq!(all(&mut paced, [80, 100, 101, 102, 103].map(at)), [Spin, Yield, Yield, Look, Sleep]);
    }

    #[test]
    fn a_wait_yields_at_once_on_a_shared_core_and_sleeps_when_yields_are_avoided() {
        use Next::{Look, Sleep, Spin, Yield};
        let mut paced = Paced::new(SPIN, 1);
        let shared = |observed| Observed { is_shared: true, ..observed };
        assert_eq!(all(&mut paced, [0, 1, 2].map(at).map(shared)), [Yield, Look, Sleep]);
        let mut paced = Paced::new(SPIN, 1);
        let kept = |observed| Observed { avoids_yields: true, ..observed };
        assert_eq!(all(&mut paced, [0, 6, 20, 21].map(at).map(kept)), [Spin, Spin, Look, Sleep]);
        let none = |observed| Observed { spin: Duration::ZERO, ..observed };
        let mut paced = Paced::new(Duration::ZERO, 1);
        assert_eq!(all(&mut paced, [0, 1, 2].map(at).map(none)), [Yield, Look, Sleep]);
        let begins = |spin, yields, is_shared| begins_with_yield(spin, yields, is_shared);
        assert!(begins(Duration::ZERO, 1, false) && begins(SPIN, 1, true));
        assert!(!begins(SPIN, 1, false) && !begins(Duration::ZERO, 0, false));
    }

    #[test]
    fn what_is_due_is_sent_before_a_sleep_and_without_spins_and_yields_it_comes_at_once() {
        let none = |observed| Observed { spin: Duration::ZERO, ..observed };
        let due = |observed| Observed { is_due: true, ..none(observed) };
        let mut paced = Paced::new(Duration::ZERO, 0);
        assert!(!paced.looks_again());
        assert_eq!(paced.observe(due(at(0))), Next::Look);
        assert_eq!(paced.observe(none(at(1))), Next::Sleep);
        paced.on_slept();
        assert!(!paced.looks_again() && paced.observe(none(at(2))) == Next::Sleep);
        // The round that announces the sleep is one in which nothing is left to send.
        let mut paced = Paced::new(SPIN, 0);
        let late = |micros| Observed { now: Duration::from_micros(micros), ..at(0) };
        assert_eq!(paced.observe(at(0)), Next::Spin);
        assert_eq!(paced.observe(Observed { is_due: true, ..late(30) }), Next::Look);
        assert!(paced.looks_again());
        assert_eq!((paced.observe(late(31)), paced.observe(late(32))), (Next::Look, Next::Sleep));
    }
}
