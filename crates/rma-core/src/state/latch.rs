//! Single locks of mapped ranks without the engine's lock: a count and a flag of the window, and a gate for each mapped rank.
//!
//! A lock call of a mapped rank that finds nothing else going on in the window's access side needs the lock word in the
//! control block and these two words, nothing of the engine. The facts have one owner each: *whether a mapped rank is locked,
//! and how*, is its gate, on every way; *how many are* is the latch's count; everything else about the access side is
//! [`crate::epoch::WindowEpoch`], whose changes set the latch's flag. While the flag is set, lock calls take the long way,
//! under the engine's lock; whoever begins a change sets it first and reads the count in the same step, so that no lock call
//! slips between its check and its change. The flag is recomputed whenever the borrow of a window ends under the engine's lock.
//!
//! Where threads take turns to call ([`Callers::One`]), a lock call and a change of the epoch never meet: both are the program's
//! calls. Then the count is a word of its own, and it and the gates are changed by plain loads and stores, of which four take less
//! than one atomic step. The flag is another thread's too, which moves the engine in the background: what it sets there, for what has
//! arrived, a lock call may just as well have come before. The epochs that calls open without the engine's lock are in the word of the
//! count then, where nobody but calls takes them over ([`Takers::Calls`]): that other thread does so for the death of a neighbor alone.
//!
//! Gates are also what communication calls look at: relaxed, since a thread that communicates has itself seen the
//! synchronization call return, or was told by one that has.

use crate::control::LockKind;
use crate::fork;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

/// Set while lock calls have to take the long way.
const LONG_WAY: u64 = 1 << 63;
/// Set while a call that takes no lock opens or ends an [`Access`] epoch: a few steps that wait for nothing.
const CHANGING: u64 = 1 << 61;
const EPOCHS: u64 = Access::Started as u64 | Access::AllLocked as u64;
const FLAGS: u64 = LONG_WAY | CHANGING | EPOCHS;

/// An access epoch that was opened without the engine's lock ([`super::quick`]), as the flag that is set while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Access {
    /// Of a start call.
    Started = 1 << 62,
    /// Of a lock_all call.
    AllLocked = 1 << 60,
}

/// How many threads call at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callers {
    /// One, and what it does comes before what the next one does, as up to `MPI_THREAD_SERIALIZED`.
    One,
    /// Any number.
    Many,
}

/// Who takes epochs over that were opened without the engine's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takers {
    /// Calls of the program that need the engine's view of the epoch.
    Calls,
    /// Also who hears of the death of a neighbor, which any thread may that moves the engine.
    Anybody,
}

/// Number of single locks of mapped ranks, and whether further ones may be taken without the engine's lock.
#[derive(Debug)]
pub(crate) struct Latch {
    callers: Callers,
    /// Whether the flags of epochs are in `of_one`.
    has_epochs_of_one: bool,
    /// The flags and, with many callers, the number.
    word: AtomicU64,
    /// The number with one caller, and the flags of epochs that only the caller changes; otherwise 0.
    of_one: AtomicU64,
}

impl Latch {
    /// Closed until the window is put into the table.
    pub(crate) fn new(callers: Callers, takers: Takers) -> Self {
        let has_epochs_of_one = callers == Callers::One && takers == Takers::Calls;
        Self { callers, has_epochs_of_one, word: AtomicU64::new(LONG_WAY), of_one: AtomicU64::new(0) }
    }

    /// How many threads call at a time.
    #[inline]
    pub(crate) fn callers(&self) -> Callers {
        self.callers
    }

    /// Whether epochs that were opened without the engine's lock are changed by one caller at a time alone.
    #[inline]
    pub(crate) fn has_epochs_of_one(&self) -> bool {
        self.has_epochs_of_one
    }

    /// Counts one more lock and answers how many there were; `None` when the call has to take the long way.
    #[inline]
    pub(crate) fn try_enter(&self) -> Option<u64> {
        if fork::is_child() {
            return None;
        }
        let mut word = self.word.load(Relaxed);
        if self.callers == Callers::One {
            return ((word | self.of_one.load(Relaxed)) & FLAGS == 0).then(|| self.change_by_one(1));
        }
        while word & FLAGS == 0 {
            match self.word.compare_exchange_weak(word, word + 1, AcqRel, Relaxed) {
                Ok(_) => return Some(word),
                Err(found) => word = found,
            }
        }
        None
    }

    /// Counts one more lock, on the long way.
    pub(crate) fn enter(&self) {
        match self.callers {
            Callers::One => self.change_by_one(1),
            Callers::Many => self.word.fetch_add(1, AcqRel),
        };
    }

    /// Counts one lock less.
    #[inline]
    pub(crate) fn leave(&self) {
        match self.callers {
            Callers::One => self.change_by_one(u64::MAX),
            Callers::Many => self.word.fetch_sub(1, AcqRel),
        };
    }

    /// Adds, modulo 2^64, to the count that one caller at a time changes, and answers what it was.
    #[inline]
    fn change_by_one(&self, change: u64) -> u64 {
        let count = self.of_one.load(Relaxed);
        self.of_one.store(count.wrapping_add(change), Relaxed);
        count
    }

    /// Makes lock calls take the long way until the flag is recomputed.
    pub(crate) fn close(&self) {
        // Whoever changes the flag holds the engine's lock, so one that is set stays set.
        if self.word.load(Acquire) & LONG_WAY == 0 {
            self.word.fetch_or(LONG_WAY, AcqRel);
        }
    }

    /// Sets the flag to what is right now.
    pub(crate) fn set_long_way(&self, is_long: bool) {
        // Other threads do not change this flag.
        match (self.has_flag(), is_long) {
            (false, true) => self.close(),
            (true, false) => {
                self.word.fetch_and(!LONG_WAY, AcqRel);
            }
            (false, false) | (true, true) => {}
        }
    }

    /// Whether lock calls have to take the long way. In a forked child all have to, and find out there ([`fork`]).
    #[inline]
    pub(crate) fn is_long_way(&self) -> bool {
        self.has_flag() || fork::is_child()
    }

    #[inline]
    fn has_flag(&self) -> bool {
        self.word.load(Relaxed) & LONG_WAY != 0
    }

    /// Number of single locks of mapped ranks held or being taken.
    pub(crate) fn count(&self) -> u64 {
        (self.word.load(Acquire) & !FLAGS) + (self.of_one.load(Acquire) & !FLAGS)
    }

    /// Whether a call may open its epoch, at some moment.
    #[inline]
    pub(crate) fn may_open(&self) -> bool {
        self.of_one.load(Relaxed) == 0 && self.word.load(Relaxed) == 0
    }

    /// Begins to open an epoch; `false` when the call has to take the long way. [`Latch::end_opening`] follows.
    #[inline]
    pub(crate) fn try_open(&self) -> bool {
        if self.has_epochs_of_one {
            return self.may_open();
        }
        self.of_one.load(Relaxed) == 0 && self.word.compare_exchange(0, CHANGING, AcqRel, Relaxed).is_ok()
    }

    /// This epoch is open, or none is, and the call takes the long way.
    #[inline]
    pub(crate) fn end_opening(&self, epoch: Option<Access>) {
        let epoch = epoch.map_or(0, |epoch| epoch as u64);
        if self.has_epochs_of_one {
            return self.of_one.store(epoch, Relaxed);
        }
        self.word.fetch_xor(CHANGING | epoch, AcqRel);
    }

    /// Begins to end an epoch; `false` when the call has to take the long way. [`Latch::end_closing`] follows.
    #[inline]
    pub(crate) fn try_close(&self, epoch: Access) -> bool {
        if self.has_epochs_of_one {
            let may_close = self.word.load(Relaxed) == 0 && self.of_one.load(Relaxed) == epoch as u64;
            if may_close {
                self.of_one.store(0, Relaxed);
            }
            return may_close;
        }
        self.word.compare_exchange(epoch as u64, CHANGING, AcqRel, Relaxed).is_ok()
    }

    /// The epoch has ended.
    #[inline]
    pub(crate) fn end_closing(&self) {
        if !self.has_epochs_of_one {
            self.word.fetch_and(!CHANGING, AcqRel);
        }
    }

    /// Waits for the end of a change by another thread that takes no lock. None begins while the latch is closed.
    pub(crate) fn settle(&self) {
        while self.word.load(Acquire) & CHANGING != 0 {
            std::thread::yield_now();
        }
    }

    /// Whether an epoch is open, or being opened or ended.
    pub(crate) fn may_have_epoch(&self) -> bool {
        (self.word.load(Relaxed) | self.of_one.load(Relaxed)) & (EPOCHS | CHANGING) != 0
    }

    /// Takes an epoch over, if it is open. Under the engine's lock, while the latch is closed.
    pub(crate) fn take(&self, epoch: Access) -> bool {
        let flag = epoch as u64;
        if self.has_epochs_of_one {
            let word = self.of_one.load(Relaxed);
            self.of_one.store(word & !flag, Relaxed);
            return word & flag != 0;
        }
        self.word.load(Relaxed) & flag != 0 && self.word.fetch_and(!flag, AcqRel) & flag != 0
    }
}

/// Whether the epoch of a fence is open, to all mapped ranks, and whether a call has come through since it opened: another
/// epoch may then replace it only after a fence (MPI 3.1 §11.5.1), as it is with operations that wait in the table.
#[derive(Debug, Default)]
pub(crate) struct Door(AtomicU8);

const SHUT: u8 = 0;
const OPEN: u8 = 1;
const USED: u8 = 2;

impl Door {
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

/// A single lock as a gate tells of it.
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
    pub(crate) fn set_locked_with_all(&self) {
        self.0.store(LOCKED_WITH_ALL, Relaxed);
    }

    /// The rank has posted to the open epoch of start.
    pub(crate) fn set_started(&self) {
        self.0.store(STARTED, Relaxed);
    }

    pub(crate) fn close(&self) {
        self.0.store(CLOSED, Relaxed);
    }

    /// Lets no call go ahead any more; a lock that is held stays so. Any thread may do so, beside the one that calls: what that
    /// changes meanwhile counts.
    pub(crate) fn bar(&self) {
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
    pub(crate) fn begin(&self, callers: Callers) -> bool {
        self.change(callers, CLOSED, TAKING)
    }

    /// From one code to another, if it is that.
    #[inline]
    fn change(&self, callers: Callers, from: u8, to: u8) -> bool {
        match callers {
            Callers::One => {
                let is_so = self.0.load(Relaxed) == from;
                if is_so {
                    self.0.store(to, Relaxed);
                }
                is_so
            }
            Callers::Many => self.0.compare_exchange(from, to, AcqRel, Relaxed).is_ok(),
        }
    }

    /// The single lock is held; `None` when no lock was taken.
    #[inline]
    pub(crate) fn set_held(&self, kind: Option<LockKind>) {
        let code = match kind {
            Some(LockKind::Exclusive) => EXCLUSIVE,
            Some(LockKind::Shared) => SHARED,
            None => UNCHECKED,
        };
        self.0.store(code, Relaxed);
    }

    /// Begins to release a single lock and answers how it was held.
    #[inline]
    pub(crate) fn begin_release(&self, callers: Callers) -> Option<Option<LockKind>> {
        let code = self.0.load(Relaxed);
        let Single::Held(kind) = single(code) else { return None };
        self.change(callers, code, LEAVING).then_some(kind)
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

    const CALLERS: [Callers; 2] = [Callers::One, Callers::Many];
    const LATCHES: [(Callers, Takers); 3] =
        [(Callers::One, Takers::Calls), (Callers::One, Takers::Anybody), (Callers::Many, Takers::Calls)];

    #[test]
    fn a_closed_latch_lets_nobody_in_and_everybody_out() {
        for (callers, takers) in LATCHES {
            let latch = Latch::new(callers, takers);
            assert_eq!(latch.try_enter(), None);
            latch.set_long_way(false);
            assert_eq!((latch.try_enter(), latch.try_enter()), (Some(0), Some(1)));
            latch.close();
            assert_eq!((latch.try_enter(), latch.count()), (None, 2));
            latch.leave();
            latch.enter();
            latch.leave();
            latch.set_long_way(true);
            assert_eq!(latch.count(), 1);
            latch.set_long_way(false);
            assert_eq!(latch.try_enter(), Some(1));
        }
    }

    #[test]
    fn no_epoch_begins_beside_a_lock_nor_a_lock_in_one_nor_two_of_them() {
        for ((callers, takers), epoch, other) in LATCHES.into_iter().flat_map(|latch| {
            [(latch, Access::Started, Access::AllLocked), (latch, Access::AllLocked, Access::Started)]
        }) {
            let latch = Latch::new(callers, takers);
            assert!(!latch.try_open(), "the latch is closed");
            latch.set_long_way(false);
            assert_eq!((latch.may_open(), latch.try_enter()), (true, Some(0)));
            assert!(!latch.may_open() && !latch.try_open());
            latch.leave();
            assert!(latch.may_open() && latch.try_open());
            if !latch.has_epochs_of_one {
                // Another call comes meanwhile.
                assert!(!latch.try_open() && latch.may_have_epoch());
                assert_eq!(latch.try_enter(), None);
            }
            latch.end_opening(None);
            assert!(!latch.try_close(epoch) && !latch.may_have_epoch());
            assert!(latch.try_open());
            latch.end_opening(Some(epoch));
            assert_eq!((latch.try_enter(), latch.may_open(), latch.count()), (None, false, 0));
            assert!(!latch.try_open() && !latch.try_close(other) && !latch.take(other));
            assert!(latch.may_have_epoch() && latch.try_close(epoch));
            latch.end_closing();
            assert_eq!(latch.try_enter(), Some(0));
            latch.leave();
            assert!(latch.try_open());
            latch.end_opening(Some(epoch));
            latch.close();
            assert!(!latch.try_close(epoch), "the engine is to take it over");
            assert!(latch.take(epoch) && !latch.take(epoch) && !latch.may_have_epoch());
        }
    }

    #[test]
    fn a_door_notes_that_somebody_came_through() {
        let door = Door::default();
        assert!(!door.passes() && !door.is_used());
        for _ in 0..2 {
            door.set_open(true);
            assert!(!door.is_used(), "a new epoch");
            assert!(door.passes() && door.passes() && door.is_used());
        }
        door.set_open(false);
        assert!(!door.passes() && !door.is_used());
    }

    #[test]
    fn a_gate_is_taken_once_and_left_once() {
        CALLERS.into_iter().for_each(take_and_leave);
    }

    fn take_and_leave(callers: Callers) {
        let gate = Gate::default();
        assert!(!gate.is_open() && gate.begin_release(callers).is_none());
        for kind in [Some(LockKind::Exclusive), Some(LockKind::Shared), None] {
            assert!(gate.begin(callers) && !gate.begin(callers));
            assert_eq!((gate.single(), gate.is_open()), (Single::Changing, false));
            gate.set_held(kind);
            assert!(gate.is_open() && gate.is_locked() && !gate.begin(callers));
            assert_eq!(gate.single(), Single::Held(kind));
            assert_eq!(gate.begin_release(callers), Some(kind));
            assert!(!gate.is_open() && gate.begin_release(callers).is_none());
            gate.close();
        }
        for kind in [Some(LockKind::Exclusive), Some(LockKind::Shared), None] {
            assert!(gate.begin(callers));
            gate.bar();
            assert_eq!(gate.single(), Single::Changing, "its call goes on");
            gate.set_held(kind);
            gate.bar();
            assert_eq!((gate.is_open(), gate.is_locked(), gate.may_send()), (false, false, false));
            assert_eq!((gate.single(), gate.begin(callers)), (Single::Held(kind), false));
            assert_eq!(gate.begin_release(callers), Some(kind));
            gate.close();
        }
        for open in [Gate::set_started, Gate::set_locked_with_all] {
            open(&gate);
            gate.bar();
            assert!(!gate.is_open() && gate.single() == Single::No);
        }
        gate.set_started();
        assert!(
            gate.is_open()
                && !gate.is_locked()
                && gate.begin_release(callers).is_none()
                && !gate.begin(callers)
        );
        gate.set_locked_with_all();
        assert!(gate.is_open() && gate.is_locked() && gate.begin_release(callers).is_none());
        assert_eq!(gate.single(), Single::No);
    }
}
