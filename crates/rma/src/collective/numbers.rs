//! The numbers by which the ranks of a communicator tell its collectives apart.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a communicator has counted. Every rank counts the same collectives in the same order.
#[derive(Debug, Default)]
pub(crate) struct CollectiveNumbers {
    begun: AtomicU64,
    persistent: AtomicU64,
}

/// A start of a persistent collective.
#[derive(Clone, Copy, Debug)]
pub struct PersistentStart {
    /// The number that the collective got when it was made.
    pub persistent: u64,
    /// How many of its starts came before.
    pub before: u64,
}

impl CollectiveNumbers {
    /// The number of a collective that begins now: the next one. The ranks start different persistent collectives in any order
    /// (MPI 5.0 §6.13), so a start has a number that does not depend on the order.
    pub(crate) fn of(&self, start: Option<PersistentStart>) -> u64 {
        match start {
            None => self.begun.fetch_add(1, Relaxed),
            // Tags have 48 bits for the number of a collective. No rank is a whole round of starts ahead of another.
            Some(PersistentStart { persistent, before }) => {
                1 << 47 | (persistent & 0x7f_ffff) << 24 | before & 0xff_ffff
            }
        }
    }

    /// The number of a persistent collective that is made now.
    pub(crate) fn next_persistent(&self) -> u64 {
        self.persistent.fetch_add(1, Relaxed)
    }
}
