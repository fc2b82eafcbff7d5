//! The target's part of post/start/complete/wait: which origins the open exposure epoch still waits for.
//!
//! An origin's "done" rides on its last packet, and counts when every answer queued before it has left, large bodies
//! included (lessons, fixed 3): the wait call means that nobody reads the window any more. Each exposure epoch has a number,
//! which its events carry, so that a late one cannot complete the next epoch (lessons, decision 4).

use crate::epoch::Awaited;
use crate::ids::Rank;

/// No exposure epoch waits for a process that says it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotExposed;

/// The exposure side of a window.
#[derive(Debug, Default)]
pub(crate) struct Exposure {
    /// Number of the newest exposure epoch.
    number: u64,
    is_open: bool,
    /// Origins of the open epoch that are not done.
    missing: Awaited,
}

impl Exposure {
    /// Whether an exposure epoch is open.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Number of the newest exposure epoch.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Opens an epoch to `group`, ascending.
    pub(crate) fn open(&mut self, group: &[Rank]) {
        debug_assert!(!self.is_open, "the table of legal calls refuses a second post");
        self.number += 1;
        self.is_open = true;
        self.missing.open(group, |_| true);
    }

    /// Ends the epoch.
    pub(crate) fn close(&mut self) {
        self.is_open = false;
        self.missing.clear();
    }

    /// Origins that are not done.
    pub(crate) fn missing(&self) -> impl Iterator<Item = Rank> + '_ {
        self.missing.iter()
    }

    /// Whether there are any.
    pub(crate) fn is_any_missing(&self) -> bool {
        self.missing.is_any_left()
    }

    /// An origin says that it is done; gives the number to count it with.
    ///
    /// # Errors
    /// When it is not in the epoch, or was done before.
    pub(crate) fn begin_done(&self, from: Option<Rank>) -> Result<u64, NotExposed> {
        match from {
            Some(rank) if self.missing.is_awaited(rank) => Ok(self.number),
            _ => Err(NotExposed),
        }
    }

    /// Counts an origin of epoch `number` as done.
    pub(crate) fn on_done(&mut self, from: Rank, number: u64) {
        if number == self.number {
            self.missing.remove(from);
        }
    }

    /// A rank that says so in shared memory, or the own one, is done.
    pub(crate) fn on_seen_done(&mut self, rank: Rank) {
        self.missing.remove(rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_an_old_epoch_does_not_complete_a_new_one() {
        let (one, two) = (Rank(1), Rank(2));
        let mut exposure = Exposure::default();
        assert!(exposure.begin_done(Some(one)).is_err());
        exposure.open(&[one]);
        let number = exposure.begin_done(Some(one)).unwrap();
        assert!(exposure.begin_done(Some(two)).is_err() && exposure.begin_done(None).is_err());
        exposure.close();
        exposure.open(&[one, two]);
        exposure.on_done(one, number);
        assert_eq!(exposure.missing().collect::<Vec<_>>(), [one, two]);
        exposure.on_done(one, exposure.begin_done(Some(one)).unwrap());
        exposure.on_seen_done(two);
        assert_eq!(exposure.missing().count(), 0);
    }
}
