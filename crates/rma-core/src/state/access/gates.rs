//! What communication calls look at: whether an epoch is open to a mapped rank, a gate for each, and one for the epoch of a fence, which reaches all of
//! them. Caches of the window's access side, written by the call that opens or ends the epoch.
//!
//! *Whether a mapped rank is locked by itself, and how*, is its gate alone, on every path; how many are is counted by
//! [`AccessState`](super::AccessState), which alone writes them.
//!
//! They are read relaxed: a thread that communicates has itself seen the synchronization call return, or was
//! synchronized with by one that has.

use super::ThreadLevel;
use crate::control::LockKind;
use std::sync::atomic::{AtomicU8, Ordering::AcqRel, Ordering::Relaxed};

/// Whether the epoch of a fence is open, to all mapped ranks, and whether a call has come through since it opened: another
/// epoch may then replace it only after a fence (MPI 3.1 §11.5.1), as it is with operations that wait in the table.
#[derive(Debug, Default)]
pub(crate) struct FenceGate(AtomicU8);

const SHUT: u8 = 0;
const OPEN: u8 = 1;
const USED: u8 = 2;

impl FenceGate {
    pub(crate) fn set_open(&self, is_open: bool) {
        self.0.store(if is_open { OPEN } else { SHUT }, Relaxed);
    }

    /// Whether a communication call has come through.
    pub(crate) fn is_used(&self) -> bool {
        self.0.load(Relaxed) == USED
    }

    /// Opens the epoch of another fence, if that of the last one is still open.
    #[inline]
    pub(crate) fn renew(&self) {
        if self.is_used() {
            // Another thread's call may have shut it: what that says counts.
            let _ = self.0.compare_exchange(USED, OPEN, Relaxed, Relaxed);
        }
    }

    /// Whether a communication call may come through; the first that may is noted.
    #[inline]
    pub(crate) fn passes(&self) -> bool {
        match self.0.load(Relaxed) {
            SHUT => false,
            USED => true,
            _ => self.pass_first(),
        }
    }

    #[cold]
    fn pass_first(&self) -> bool {
        // Another thread's fence may have changed it: what that says counts.
        self.0.compare_exchange(OPEN, USED, Relaxed, Relaxed) != Err(SHUT)
    }
}

/// Whether an epoch is open to a mapped rank, and which.
#[derive(Debug, Default)]
pub(crate) struct Gate(AtomicU8);

// Ordered, so that a communication call makes one comparison.
const CLOSED: u8 = 0;
const TAKING: u8 = 1;
const LEAVING: u8 = 2;
const BARRED_EXCLUSIVE: u8 = 3;
const BARRED_SHARED: u8 = 4;
const BARRED_UNCHECKED: u8 = 5;
const STARTED: u8 = 6;
const LOCKED_WITH_ALL: u8 = 7;
const EXCLUSIVE: u8 = 8;
const SHARED: u8 = 9;
const UNCHECKED: u8 = 10;

/// A single lock as a gate shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Single {
    /// Neither held nor asked for.
    No,
    /// A lock or unlock call is under way.
    Changing,
    /// Held; `None` when no lock was taken.
    Held(Option<LockKind>),
}

impl Gate {
    /// The rank is locked together with all others.
    pub(super) fn set_locked_with_all(&self) {
        self.0.store(LOCKED_WITH_ALL, Relaxed);
    }

    /// The rank has posted to the open epoch of start.
    pub(super) fn set_started(&self) {
        self.0.store(STARTED, Relaxed);
    }

    pub(super) fn close(&self) {
        self.0.store(CLOSED, Relaxed);
    }

    /// Closes the fast path of calls; a lock that is held stays so. Any thread may do this beside the calling
    /// one, whose changes meanwhile count.
    pub(super) fn bar(&self) {
        let code = self.0.load(Relaxed);
        let barred = match code {
            STARTED | LOCKED_WITH_ALL => CLOSED,
            EXCLUSIVE => BARRED_EXCLUSIVE,
            SHARED => BARRED_SHARED,
            UNCHECKED => BARRED_UNCHECKED,
            _ => return,
        };
        let _ = self.0.compare_exchange(code, barred, AcqRel, Relaxed);
    }

    /// Begins a single lock; `false` when the rank is locked, or an epoch open to it.
    #[inline]
    pub(super) fn begin(&self, level: ThreadLevel) -> bool {
        self.change(level, CLOSED, TAKING)
    }

    /// From one code to another, if it is that.
    #[inline]
    fn change(&self, level: ThreadLevel, from: u8, to: u8) -> bool {
        match level {
            ThreadLevel::Serialized => {
                let is_so = self.0.load(Relaxed) == from;
                if is_so {
                    self.0.store(to, Relaxed);
                }
                is_so
            }
            ThreadLevel::Multiple => self.0.compare_exchange(from, to, AcqRel, Relaxed).is_ok(),
        }
    }

    /// The single lock is held; `None` when no lock was taken.
    #[inline]
    pub(super) fn set_held(&self, kind: Option<LockKind>) {
        let code = match kind {
            Some(LockKind::Exclusive) => EXCLUSIVE,
            Some(LockKind::Shared) => SHARED,
            None => UNCHECKED,
        };
        self.0.store(code, Relaxed);
    }

    /// Begins to release a single lock and answers how it was held.
    #[inline]
    pub(super) fn begin_release(&self, level: ThreadLevel) -> Option<Option<LockKind>> {
        let code = self.0.load(Relaxed);
        let Single::Held(kind) = single(code) else { return None };
        match level {
            // What bars it meanwhile changes nothing of the release.
            ThreadLevel::Serialized => self.0.store(LEAVING, Relaxed),
            ThreadLevel::Multiple => {
                self.0.compare_exchange(code, LEAVING, AcqRel, Relaxed).ok()?;
            }
        }
        Some(kind)
    }

    /// What there is of a single lock.
    pub(crate) fn single(&self) -> Single {
        single(self.0.load(Relaxed))
    }

    /// Whether the rank is locked, alone or with all, so that the calls of passive epochs are legal.
    #[inline]
    pub(crate) fn is_locked(&self) -> bool {
        self.0.load(Relaxed) >= LOCKED_WITH_ALL
    }

    /// Whether packets may go to the rank under a lock that is held, or being given back once they are answered.
    #[inline]
    pub(crate) fn may_send(&self) -> bool {
        let code = self.0.load(Relaxed);
        code >= LOCKED_WITH_ALL || code == LEAVING
    }

    /// Whether communication calls may go ahead.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.0.load(Relaxed) >= STARTED
    }
}

#[inline]
fn single(code: u8) -> Single {
    match code {
        EXCLUSIVE | BARRED_EXCLUSIVE => Single::Held(Some(LockKind::Exclusive)),
        SHARED | BARRED_SHARED => Single::Held(Some(LockKind::Shared)),
        UNCHECKED | BARRED_UNCHECKED => Single::Held(None),
        TAKING | LEAVING => Single::Changing,
        _ => Single::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_gate_notes_that_a_call_came_through() {
        let fence_gate = FenceGate::default();
        assert!(!fence_gate.passes() && !fence_gate.is_used());
        for _ in 0..2 {
            fence_gate.set_open(true);
            assert!(!fence_gate.is_used(), "a new epoch");
            assert!(fence_gate.passes() && fence_gate.passes() && fence_gate.is_used());
        }
        fence_gate.set_open(false);
        assert!(!fence_gate.passes() && !fence_gate.is_used());
    }

    #[test]
    fn a_gate_is_taken_once_and_left_once() {
        [ThreadLevel::Serialized, ThreadLevel::Multiple].into_iter().for_each(take_and_leave);
    }

    fn take_and_leave(level: ThreadLevel) {
        let gate = Gate::default();
        assert!(!gate.is_open() && gate.begin_release(level).is_none());
        for kind in [Some(LockKind::Exclusive), Some(LockKind::Shared), None] {
            assert!(gate.begin(level) && !gate.begin(level));
            assert_eq!((gate.single(), gate.is_open()), (Single::Changing, false));
            gate.set_held(kind);
            assert!(gate.is_open() && gate.is_locked() && !gate.begin(level));
            assert_eq!(gate.single(), Single::Held(kind));
            assert_eq!(gate.begin_release(level), Some(kind));
            assert!(!gate.is_open() && gate.begin_release(level).is_none());
            gate.close();
        }
        for kind in [Some(LockKind::Exclusive), Some(LockKind::Shared), None] {
            assert!(gate.begin(level));
            gate.bar();
            assert_eq!(gate.single(), Single::Changing, "its call goes on");
            gate.set_held(kind);
            gate.bar();
            assert_eq!((gate.is_open(), gate.is_locked(), gate.may_send()), (false, false, false));
            assert_eq!((gate.single(), gate.begin(level)), (Single::Held(kind), false));
            assert_eq!(gate.begin_release(level), Some(kind));
            gate.close();
        }
        for open in [Gate::set_started, Gate::set_locked_with_all] {
            open(&gate);
            gate.bar();
            assert!(!gate.is_open() && gate.single() == Single::No);
        }
        gate.set_started();
        assert!(
            gate.is_open() && !gate.is_locked() && gate.begin_release(level).is_none() && !gate.begin(level)
        );
        gate.set_locked_with_all();
        assert!(gate.is_open() && gate.is_locked() && gate.begin_release(level).is_none());
        assert_eq!(gate.single(), Single::No);
    }
}
