//! Window states and target states, after the design note's section "Epoch States".
//!
//! ```text
//!            fence(no-precede)            barrier over
//!   Unset ────────────────────▶ FenceIssued ──────────▶ FenceGranted ──┐
//!     ▲  ▲                          │  fence                ▲   │ fence  │
//!     │  └── fence(no-succeed) ─────┴───────────────────────┴───┘        │ lock (no operation pending)
//!     │ last unlock                                                      ▼
//!     └───────────────────────────────────────────────── PerTarget ◀── lock ── Unset
//!
//!   per target:  lock ─▶ Called ─▶ Issued ─▶ Granted ─▶ unlock        (no-check: lock ─▶ Granted)
//! ```
//!
//! The states of post/start and lock_all join when those calls do.

use crate::control::LockKind;
use crate::error::{Error, ErrorClass, Result};
use crate::ids::Rank;
use std::collections::BTreeMap;

/// Assertions on synchronization calls (MPI 3.1 §11.5.5), as bits that may be combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Assert(u32);

impl Assert {
    /// No assertion.
    pub const NONE: Self = Self(0);
    /// `MPI_MODE_NOCHECK`: no other process holds or waits for a conflicting lock.
    pub const NO_CHECK: Self = Self(1024);
    /// `MPI_MODE_NOPRECEDE`: the fence completes no operation, on any rank.
    pub const NO_PRECEDE: Self = Self(2048);
    /// `MPI_MODE_NOPUT`: the local window will not be updated by others until the next fence.
    pub const NO_PUT: Self = Self(4096);
    /// `MPI_MODE_NOSTORE`: the local window was not updated by stores since the last synchronization.
    pub const NO_STORE: Self = Self(8192);
    /// `MPI_MODE_NOSUCCEED`: no operation follows the fence, on any rank.
    pub const NO_SUCCEED: Self = Self(16384);

    /// The assertion of these bits, for a call that allows `legal`.
    ///
    /// # Errors
    /// `MPI_ERR_ASSERT` when other bits are set.
    pub fn checked(self, call: &'static str, legal: Self) -> Result<Self> {
        match self.0 & !legal.0 {
            0 => Ok(self),
            stray => Err(Error::new(
                ErrorClass::Assert,
                call,
                format!(
                    "assert {:#x} has bits {stray:#x} that this call does not take (it takes {:#x})",
                    self.0, legal.0
                ),
            )),
        }
    }

    /// From the bits of the standard ABI; unknown bits are kept, for [`Assert::checked`] to refuse.
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Whether all of `other`'s assertions are made.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These assertions and `other`'s.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The window state of the access side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Epoch {
    /// No access epoch.
    Unset,
    /// A fence has been called, but not every rank is known to have called it.
    FenceIssued,
    /// Every rank has entered the fence.
    FenceGranted,
    /// Locks of single targets are held or asked for.
    PerTarget,
}

/// The target state of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockState {
    /// The user called lock; nothing has left.
    Called,
    /// The request has left.
    Issued,
    /// The lock is held, or no-check says it need not be.
    Granted,
}

/// A lock that the user has been promised. Lives until unlock; never in reclaimable memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    pub(crate) kind: LockKind,
    pub(crate) state: LockState,
    /// No lock is taken at the target, and none released.
    pub(crate) no_check: bool,
    /// A later lock call waits for this lock to be granted, so it is asked for without an operation.
    pub(crate) wanted: bool,
    /// The unlock call has begun: no further operation is legal.
    pub(crate) closing: bool,
}

/// The access side of a window: its state, who opened it, the locks. One owner for these facts.
#[derive(Debug)]
pub(crate) struct WindowEpoch {
    state: Epoch,
    opened_by: &'static str,
    number: u64,
    /// In the order of ranks: what leaves when does not depend on a hash.
    locks: BTreeMap<Rank, Lock>,
}

impl WindowEpoch {
    pub(crate) fn new() -> Self {
        Self { state: Epoch::Unset, opened_by: "no call", number: 0, locks: BTreeMap::new() }
    }

    pub(crate) fn state(&self) -> Epoch {
        self.state
    }

    /// The call that opened the epoch, for messages.
    pub(crate) fn opened_by(&self) -> &'static str {
        self.opened_by
    }

    /// Number of the epoch instance: late events of an old epoch cannot be mistaken for this one's.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Enters a fence epoch, or leaves it.
    pub(crate) fn set_fence(&mut self, state: Epoch) {
        debug_assert!(state != Epoch::PerTarget && self.locks.is_empty());
        if state != Epoch::FenceGranted || self.state != Epoch::FenceIssued {
            self.number += 1;
        }
        self.state = state;
        self.opened_by = if state == Epoch::Unset { "no call" } else { "fence" };
    }

    /// Records a lock that the user has called for.
    pub(crate) fn add_lock(&mut self, rank: Rank, lock: Lock) {
        let before = self.locks.insert(rank, lock);
        debug_assert!(before.is_none(), "the table of legal calls refuses a second lock of {rank:?}");
        if self.state != Epoch::PerTarget {
            self.number += 1;
        }
        self.state = Epoch::PerTarget;
        self.opened_by = "lock";
    }

    /// Forgets a lock; with the last one the epoch ends.
    pub(crate) fn remove_lock(&mut self, rank: Rank) {
        self.locks.remove(&rank);
        if self.locks.is_empty() && self.state == Epoch::PerTarget {
            self.state = Epoch::Unset;
            self.opened_by = "no call";
        }
    }

    pub(crate) fn lock(&self, rank: Rank) -> Option<&Lock> {
        self.locks.get(&rank)
    }

    pub(crate) fn lock_mut(&mut self, rank: Rank) -> Option<&mut Lock> {
        self.locks.get_mut(&rank)
    }

    /// The ranks whose locks have been called for but are not held yet.
    pub(crate) fn ungranted(&self) -> impl Iterator<Item = Rank> + '_ {
        self.locks.iter().filter(|(_, lock)| lock.state != LockState::Granted).map(|(rank, _)| *rank)
    }

    /// Whether a lock of another rank is held, so that waiting for `rank`'s in line could make others wait for each other.
    pub(crate) fn holds_another(&self, rank: Rank) -> bool {
        self.locks
            .iter()
            .any(|(other, lock)| *other != rank && lock.state == LockState::Granted && !lock.no_check)
    }

    /// Number of locks held or asked for.
    pub(crate) fn locks_held(&self) -> usize {
        self.locks.len()
    }

    /// One of the locked ranks, for messages.
    pub(crate) fn a_locked_rank(&self) -> Option<Rank> {
        self.locks.keys().next().copied()
    }
}
