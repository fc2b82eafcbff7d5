//! Peers whose systems confirm nothing of what is under way: a network that is cut shows nothing else.
//!
//! The system gives such a connection up after a quarter of an hour, and its own option for less time also ends connections of
//! peers that are stopped and take nothing more, although their systems answer. So the connections are looked at now and then,
//! [`LOOKS`] times within the limit ([`crate::contact`] does). Bytes count from the first look that finds them, since the last
//! confirmation of a connection that was idle is older than they are.

use std::time::{Duration, Instant};

/// Looks within the limit.
pub(crate) const LOOKS: u32 = 4;

/// Since when the peer's system owes a confirmation, and none has come.
#[derive(Debug, Default)]
pub(crate) struct Owed(Option<Instant>);

impl Owed {
    /// Takes what a look has found, as [`crate::sys::silence`] says it; answers how long nothing has been confirmed at least.
    pub(crate) fn look(&mut self, silence: Option<Duration>, now: Instant) -> Duration {
        let Some(silence) = silence else {
            self.0 = None;
            return Duration::ZERO;
        };
        let since = *self.0.get_or_insert(now);
        let owed = now.duration_since(since);
        if silence < owed {
            self.0 = Some(now);
            return Duration::ZERO;
        }
        owed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_owed_counts_from_the_first_look_and_from_each_confirmation() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut owed = Owed::default();
        let mut look = |at: u32, silence: Option<u32>| {
            owed.look(silence.map(|silence| silence * second), start + at * second).as_secs()
        };
        // The connection was idle for long before.
        assert_eq!(look(100, Some(90)), 0);
        assert_eq!(look(101, Some(91)), 1);
        assert_eq!(look(110, Some(100)), 10);
        // Something came, and more is owed since.
        assert_eq!(look(112, Some(1)), 0);
        assert_eq!(look(115, Some(4)), 3);
        assert_eq!(look(116, None), 0);
        assert_eq!(look(120, Some(3)), 0);
    }
}
