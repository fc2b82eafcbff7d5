//! The access side of a window as calls change it past the engine: one state, one function of its transitions.
//!
//! A lock call of a mapped rank that finds nothing else going on in the window's access side needs the lock word in the control block, the
//! rank's gate and this state, nothing of the engine. So do start, complete, lock_all and unlock_all where all ranks are mapped.
//!
//! ```text
//!              lock: n + 1, unlock: n - 1
//!                     ╭───╮
//!                     │   ▼
//!    ┌─────────── Locks(n) ◀──────────────────────────────────────────────────┐
//!    │                ▲ ▲                                                     │
//!    │ open, n = 0    │ └─ end_opening(none), end_closing ─┐                  │ take, by the engine
//!    │                │                                    │                  │
//!    └──────────────────────────▶ Changing ────────────────┘                  │
//!                                  │    ▲                                     │
//!              end_opening(epoch)  │    │ close                               │
//!                                  ▼    │                                     │
//!                             Started, AllLocked ─────────────────────────────┘
//!
//!    Beside each of them: owned by the engine, or not. Owned, only unlock, the ends of a change, and the engine's own lock and take can happen.
//! ```
//!
//! **Who may change it.** While the engine owns the state, calls take the slow path, under the engine's lock. Who begins a change of the
//! window's epoch there owns it first and reads the count in the same step, so no call slips between its check and its change. Whether the
//! engine owns the state is found out again whenever the borrow of a window ends ([`super::Windows`]). The nine states of the design note
//! ([`Epoch`](crate::epoch::Epoch)) are the engine's; it takes an epoch over that was opened here when a call needs its view of it
//! ([`WindowState::absorb`](super::WindowState::absorb)).
//!
//! **How.** The transition runs by compare-and-swap. Where threads take turns to call ([`Callers::One`]), a lock call and a change of the epoch
//! never meet: both are the program's calls. Then what callers change is a word of its own, changed by plain loads and stores, of which four
//! take less than one atomic step. Whether the engine owns the state is another thread's too, which moves the engine in the background: what
//! that finds, for what has arrived, a lock call may just as well have come before. Epochs are in the callers' word where nobody but calls
//! takes them over ([`Takers::Calls`]): that other thread does so for the death of a neighbor alone.

use crate::fork;
#[cfg(all(test, loom))]
use loom::sync::atomic::AtomicU64;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// The engine owns the state.
const OWNED: u64 = 1 << 63;
/// A call that takes no lock opens or ends an epoch: a few steps that wait for nothing.
const CHANGING: u64 = 1 << 61;
const EPOCHS: u64 = FastEpoch::Started as u64 | FastEpoch::AllLocked as u64;
const FLAGS: u64 = OWNED | CHANGING | EPOCHS;

/// An access epoch that was opened past the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum FastEpoch {
    /// Of a start call.
    Started = 1 << 62,
    /// Of a lock_all call.
    AllLocked = 1 << 60,
}

/// What happens to the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A call takes a single lock.
    Lock,
    /// The same under the engine's lock.
    LockByEngine,
    /// A single lock is given back, on either path.
    Unlock,
    /// A call begins to open an epoch.
    Open,
    /// It has, or has not and takes the slow path.
    EndOpening(Option<FastEpoch>),
    /// A call begins to end an epoch.
    Close(FastEpoch),
    /// It has.
    EndClosing,
    /// The engine takes an epoch over.
    Take(FastEpoch),
    /// The engine owns the state from now on.
    Own,
    /// The engine leaves the state to calls.
    Leave,
}

/// The state after an event; `None` when the event cannot happen: then a call takes the slow path.
#[inline(always)]
fn after(state: u64, event: Event) -> Option<u64> {
    let (is_free, is_owned) = (state & FLAGS == 0, state & OWNED != 0);
    match event {
        Event::Lock => is_free.then_some(state + 1),
        Event::LockByEngine => Some(state + 1),
        Event::Unlock => Some(state.wrapping_sub(1)),
        Event::Open => (state == 0).then_some(CHANGING),
        Event::EndOpening(epoch) => Some((state & !CHANGING) | epoch.map_or(0, |epoch| epoch as u64)),
        Event::Close(epoch) => (state == epoch as u64).then_some(CHANGING),
        Event::EndClosing => Some(state & !CHANGING),
        Event::Take(epoch) => (is_owned && state & epoch as u64 != 0).then_some(state & !(epoch as u64)),
        Event::Own => Some(state | OWNED),
        Event::Leave => Some(state & !OWNED),
    }
}

/// How many threads call at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callers {
    /// One, and what it does comes before what the next one does, as up to `MPI_THREAD_SERIALIZED`.
    One,
    /// Any number.
    Many,
}

/// Who takes epochs over that were opened past the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takers {
    /// Calls of the program that need the engine's view of the epoch.
    Calls,
    /// Also who hears of the death of a neighbor, which any thread may that moves the engine.
    Anybody,
}

/// The state: how many single locks of mapped ranks there are, or which epoch was opened past the engine, and whether the engine owns it.
#[derive(Debug)]
pub(crate) struct AccessState {
    callers: Callers,
    /// Whether epochs are in `of_one`.
    has_epochs_of_one: bool,
    /// The flags and, with many callers, the number.
    word: AtomicU64,
    /// With one caller: the number, and the epochs that only the caller changes; otherwise 0.
    of_one: AtomicU64,
}

impl AccessState {
    /// The engine's until the window is put into the table.
    pub(crate) fn new(callers: Callers, takers: Takers) -> Self {
        let has_epochs_of_one = callers == Callers::One && takers == Takers::Calls;
        Self { callers, has_epochs_of_one, word: AtomicU64::new(OWNED), of_one: AtomicU64::new(0) }
    }

    /// How many threads call at a time.
    #[inline]
    pub(crate) fn callers(&self) -> Callers {
        self.callers
    }

    /// Whether epochs that were opened past the engine are changed by one caller at a time alone.
    #[inline]
    pub(crate) fn has_epochs_of_one(&self) -> bool {
        self.has_epochs_of_one
    }

    /// Counts one more lock and answers how many there were; `None` when the call has to take the slow path.
    #[inline]
    pub(crate) fn try_enter(&self) -> Option<u64> {
        if fork::is_child() {
            return None;
        }
        self.change_count(Event::Lock)
    }

    /// Counts one more lock, on the slow path.
    pub(crate) fn enter(&self) {
        let _before = self.change_count(Event::LockByEngine);
    }

    /// Counts one lock less.
    #[inline]
    pub(crate) fn leave(&self) {
        let _before = self.change_count(Event::Unlock);
    }

    /// Makes calls take the slow path until it is found out again whether they have to.
    pub(crate) fn own(&self) {
        // Whoever changes this holds the engine's lock, so what is owned stays so.
        if self.word.load(Acquire) & OWNED == 0 {
            let _before = self.change_shared(Event::Own);
        }
    }

    /// Owns the state or leaves it to calls.
    pub(crate) fn set_owned(&self, is_owned: bool) {
        match (self.has_owner(), is_owned) {
            (false, true) => self.own(),
            (true, false) => {
                let _before = self.change_shared(Event::Leave);
            }
            (false, false) | (true, true) => {}
        }
    }

    /// Whether calls have to take the slow path. In a forked child all have to, and find out there ([`fork`]).
    #[inline]
    pub(crate) fn is_owned(&self) -> bool {
        self.has_owner() || fork::is_child()
    }

    #[inline]
    fn has_owner(&self) -> bool {
        self.word.load(Relaxed) & OWNED != 0
    }

    /// Number of single locks of mapped ranks held or being taken.
    pub(crate) fn count(&self) -> u64 {
        (self.word.load(Acquire) | self.of_one.load(Acquire)) & !FLAGS
    }

    /// Whether a call may open its epoch, at some moment.
    #[inline]
    pub(crate) fn may_open(&self) -> bool {
        after(self.state(), Event::Open).is_some()
    }

    /// Begins to open an epoch; `false` when the call has to take the slow path. [`AccessState::end_opening`] follows.
    #[inline]
    pub(crate) fn try_open(&self) -> bool {
        self.change_epoch(Event::Open).is_some()
    }

    /// This epoch is open, or none is, and the call takes the slow path.
    #[inline]
    pub(crate) fn end_opening(&self, epoch: Option<FastEpoch>) {
        let _before = self.change_epoch(Event::EndOpening(epoch));
    }

    /// Begins to end an epoch; `false` when the call has to take the slow path. [`AccessState::end_closing`] follows.
    #[inline]
    pub(crate) fn try_close(&self, epoch: FastEpoch) -> bool {
        self.change_epoch(Event::Close(epoch)).is_some()
    }

    /// The epoch has ended.
    #[inline]
    pub(crate) fn end_closing(&self) {
        let _before = self.change_epoch(Event::EndClosing);
    }

    /// Waits for the end of a change by another thread that takes no lock. None begins while the engine owns the state.
    pub(crate) fn settle(&self) {
        while self.word.load(Acquire) & CHANGING != 0 {
            #[cfg(all(test, loom))]
            loom::thread::yield_now();
            #[cfg(not(all(test, loom)))]
            std::thread::yield_now();
        }
    }

    /// Whether an epoch is open, or being opened or ended.
    pub(crate) fn may_have_epoch(&self) -> bool {
        self.state() & (EPOCHS | CHANGING) != 0
    }

    /// Takes an epoch over, if it is open. Under the engine's lock, while the engine owns the state.
    pub(crate) fn take(&self, epoch: FastEpoch) -> bool {
        self.change_epoch(Event::Take(epoch)).is_some()
    }

    #[inline]
    fn state(&self) -> u64 {
        self.word.load(Relaxed) | self.of_one.load(Relaxed)
    }

    /// A change of the count: answers the state before.
    #[inline(always)]
    fn change_count(&self, event: Event) -> Option<u64> {
        match self.callers {
            Callers::One => self.change_by_one(event),
            Callers::Many => self.change_shared(event),
        }
    }

    /// A change of an epoch: answers the state before.
    #[inline(always)]
    fn change_epoch(&self, event: Event) -> Option<u64> {
        if self.has_epochs_of_one { self.change_by_one(event) } else { self.change_shared(event) }
    }

    /// A transition of what only the caller changes.
    #[inline(always)]
    fn change_by_one(&self, event: Event) -> Option<u64> {
        let (shared, own) = (self.word.load(Relaxed), self.of_one.load(Relaxed));
        let next = after(shared | own, event)?;
        self.of_one.store(next & !shared, Relaxed);
        Some(shared | own)
    }

    /// A transition beside other threads. Each changes one of the two words; what the other one holds is looked at alone.
    #[inline(always)]
    fn change_shared(&self, event: Event) -> Option<u64> {
        let mut shared = self.word.load(Relaxed);
        loop {
            let own = self.of_one.load(Relaxed);
            let next = after(shared | own, event)? & !own;
            match self.word.compare_exchange_weak(shared, next, AcqRel, Relaxed) {
                Ok(_) => return Some(shared | own),
                Err(found) => shared = found,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [(Callers, Takers); 3] =
        [(Callers::One, Takers::Calls), (Callers::One, Takers::Anybody), (Callers::Many, Takers::Calls)];

    #[test]
    fn a_state_that_the_engine_owns_lets_no_call_in_and_each_out() {
        for (callers, takers) in STATES {
            let state = AccessState::new(callers, takers);
            assert_eq!(state.try_enter(), None);
            state.set_owned(false);
            assert_eq!((state.try_enter(), state.try_enter()), (Some(0), Some(1)));
            state.own();
            assert_eq!((state.try_enter(), state.count()), (None, 2));
            state.leave();
            state.enter();
            state.leave();
            state.set_owned(true);
            assert_eq!(state.count(), 1);
            state.set_owned(false);
            assert_eq!(state.try_enter(), Some(1));
        }
    }

    #[test]
    fn no_epoch_begins_beside_a_lock_nor_a_lock_in_one_nor_two_of_them() {
        for ((callers, takers), epoch, other) in STATES.into_iter().flat_map(|state| {
            [
                (state, FastEpoch::Started, FastEpoch::AllLocked),
                (state, FastEpoch::AllLocked, FastEpoch::Started),
            ]
        }) {
            let state = AccessState::new(callers, takers);
            assert!(!state.try_open(), "the engine owns it");
            state.set_owned(false);
            assert_eq!((state.may_open(), state.try_enter()), (true, Some(0)));
            assert!(!state.may_open() && !state.try_open());
            state.leave();
            assert!(state.may_open() && state.try_open());
            if !state.has_epochs_of_one {
                // Another call comes meanwhile.
                assert!(!state.try_open() && state.may_have_epoch());
                assert_eq!(state.try_enter(), None);
            }
            state.end_opening(None);
            assert!(!state.try_close(epoch) && !state.may_have_epoch());
            assert!(state.try_open());
            state.end_opening(Some(epoch));
            assert_eq!((state.try_enter(), state.may_open(), state.count()), (None, false, 0));
            assert!(!state.try_open() && !state.try_close(other) && !state.take(other));
            assert!(state.may_have_epoch() && state.try_close(epoch));
            state.end_closing();
            assert_eq!(state.try_enter(), Some(0));
            state.leave();
            assert!(state.try_open());
            state.end_opening(Some(epoch));
            state.own();
            assert!(!state.try_close(epoch), "the engine is to take it over");
            assert!(state.take(epoch) && !state.take(epoch) && !state.may_have_epoch());
        }
    }
}
