//! How long a wait spins before it sleeps, where sleeps have turned out short.
//!
//! A rank is awake some ten microseconds after its wake-up on a quiet machine, and hundreds where power
//! management or the host of a virtual one takes its time. Then a sleeping rank makes the one that it answers
//! wait for longer than that one spins, so both sleep for each other's answers, and go on so. A sleep that a
//! packet ended soon would have been needless had the wait spun for so much longer; so the next waits spin for
//! twice that longer, up to [`LONGEST`]. A sleep that lasted longer, or brought nothing, takes that back: a long
//! wait spins for that long once, and yields meanwhile as ever.
//!
//! Only a guess of one process about itself; threads that change it at the same time lose one, and it comes again.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A longer sleep was worth it.
const SHORT_SLEEP: Duration = Duration::from_millis(1);
/// Most that a wait spins longer because of short sleeps.
const LONGEST: Duration = Duration::from_millis(2);

/// What the last sleep says about the next one.
#[derive(Debug, Default)]
pub(crate) struct AdaptiveSpin {
    /// Nanoseconds that waits spin longer than usual.
    longer: AtomicU64,
}

impl AdaptiveSpin {
    /// How long waits spin that would usually spin for so long. Those that never spin do not.
    pub(crate) fn spin(&self, usual: Duration) -> Duration {
        if usual.is_zero() { usual } else { usual + Duration::from_nanos(self.longer.load(Relaxed)) }
    }

    /// A wait has slept; `moved` says whether the step behind it has moved anything.
    pub(crate) fn on_woken(&self, slept: Duration, moved: bool) {
        let longer = if moved && slept <= SHORT_SLEEP { (2 * slept).min(LONGEST) } else { Duration::ZERO };
        self.longer.store(longer.as_nanos() as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Duration = Duration::from_micros(30);

    #[test]
    fn waits_spin_longer_by_twice_a_short_sleep_until_a_sleep_is_long_or_in_vain() {
        let spin = AdaptiveSpin::default();
        assert_eq!(spin.spin(USUAL), USUAL);
        spin.on_woken(Duration::from_micros(400), true);
        assert_eq!(spin.spin(USUAL), USUAL + Duration::from_micros(800));
        assert_eq!(spin.spin(Duration::ZERO), Duration::ZERO, "a wait that never spins does not");
        spin.on_woken(Duration::from_micros(400), false);
        assert_eq!(spin.spin(USUAL), USUAL, "it brought nothing");
        spin.on_woken(SHORT_SLEEP, true);
        assert_eq!(spin.spin(USUAL), USUAL + LONGEST);
        spin.on_woken(SHORT_SLEEP + Duration::from_micros(1), true);
        assert_eq!(spin.spin(USUAL), USUAL, "it was worth it");
        spin.on_woken(Duration::from_micros(5), true);
        assert_eq!(spin.spin(USUAL), Duration::from_micros(40), "however short the sleep was");
    }
}
