//! The owner of a window's access side: one atomic word ([`AccessWord`]), changed by one function of its transitions on every path, and the
//! gates of the ranks of the node, which are caches of it.
//!
//! A lock call of a mapped rank that finds nothing else going on in the window's access side needs the lock word in the control block, the
//! rank's gate and this state, nothing of the engine. So do start, complete, lock_all and unlock_all where all ranks are mapped. The
//! diagram of the states stands at [`crate::epoch::AccessWord`].
//!
//! **Which thread may change it.** While the engine owns the state, calls take the slow path, under the
//! engine's lock. A change of the window's epoch there owns the state first and reads the word in the same
//! step, so no call slips between its check and its change. Whether the engine owns the state is found out
//! again whenever the borrow of a window ends ([`crate::state::Windows`]): it does where the epoch, or a
//! single lock, is one that calls on the fast path know too little of. Other epochs stay what they are when
//! the engine looks at them, and either path may end them.
//!
//! **How.** The transition runs by compare-and-swap. Where threads take turns to call ([`ThreadLevel::Serialized`]), no
//! two calls meet: a call's changes are plain loads and stores, of which four take less than one atomic step.
//! Whether the engine owns the state is then a word of its own, since the engine moves in the background too;
//! for what the engine finds there, the call may just as well have come before. In the background nothing
//! else is changed but epochs that the engine has owned since the call that opened them, and locks of a
//! revoked window.

use super::Gate;
use crate::control::LockKind;
use crate::epoch::{AccessEvent, AccessWord, FastEpoch};
use crate::strategy::{Next, rest};
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU32, AtomicU64};

/// How many threads call at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadLevel {
    /// One, and what it does comes before what the next one does, as up to `MPI_THREAD_SERIALIZED`.
    Serialized,
    /// Any number.
    Multiple,
}

impl ThreadLevel {
    /// That of a program which has promised so, or has not.
    pub(crate) fn promised(has_one_caller: bool) -> Self {
        if has_one_caller { Self::Serialized } else { Self::Multiple }
    }
}

/// The access side of a window. After a pause each line of the cache that a call needs takes longer than the call, so it is one: its size
/// is its alignment, and no more than every allocation has, since allocators are slow beyond.
#[derive(Debug)]
#[repr(align(16))]
pub(crate) struct AccessState {
    /// The state; with one caller but for whether the engine owns it.
    word: AtomicU64,
    /// With one caller: the upper half of a word that says whether the engine owns the state, changed under its lock alone; otherwise
    /// nothing.
    owner: AtomicU32,
    level: ThreadLevel,
}

#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<AccessState>() == 16);

impl AccessState {
    /// No epoch is open; the engine's until the window is put into the table.
    pub(crate) fn new(level: ThreadLevel) -> Self {
        let AccessWord(new) = AccessWord::NEW;
        let (word, owner) = if level == ThreadLevel::Serialized { (0, new) } else { (new, 0) };
        Self { level, word: AtomicU64::new(word), owner: AtomicU32::new(upper_half(owner)) }
    }

    /// How many threads call at a time.
    #[inline]
    pub(crate) fn level(&self) -> ThreadLevel {
        self.level
    }

    /// The word at some moment.
    #[inline]
    pub(crate) fn word(&self) -> AccessWord {
        AccessWord(self.word.load(Acquire) | self.owner(Acquire))
    }

    /// Begins the single lock of a rank past the engine and answers how many there were; `None`, and nothing changed, when the call has to
    /// take the slow path. [`AccessState::hold`] or [`AccessState::leave`] follows.
    #[inline]
    pub(crate) fn try_enter(&self, gate: &Gate) -> Option<u64> {
        let before = self.change(AccessEvent::Enter)?;
        if gate.begin(self.level) {
            return Some(before.locks());
        }
        let _same = self.change(AccessEvent::Unlock);
        None
    }

    /// The same on the slow path; answers the state before, or `None`, and nothing changed, when the rank is locked.
    pub(crate) fn enter(&self, gate: &Gate) -> Option<AccessWord> {
        gate.begin(self.level).then(|| self.on(AccessEvent::Lock))
    }

    /// A single lock that was begun is held; `None` when no lock was taken.
    #[inline]
    pub(crate) fn hold(&self, gate: &Gate, kind: Option<LockKind>) {
        gate.set_held(kind);
    }

    /// Begins to release a single lock and answers how it was held. [`AccessState::leave`] or [`AccessState::hold`] follows.
    #[inline]
    pub(crate) fn begin_release(&self, gate: &Gate) -> Option<Option<LockKind>> {
        gate.begin_release(self.level)
    }

    /// A single lock is given back, or was begun in vain.
    #[inline]
    pub(crate) fn leave(&self, gate: &Gate) {
        gate.close();
        let before = self.change(AccessEvent::Unlock);
        debug_assert!(before.is_some(), "a lock that is given back was counted");
    }

    /// The epoch of start is open to a rank.
    #[inline]
    pub(crate) fn open_started(&self, gate: &Gate) {
        gate.set_started();
    }

    /// A rank is locked together with all others.
    #[inline]
    pub(crate) fn open_locked_with_all(&self, gate: &Gate) {
        gate.set_locked_with_all();
    }

    /// The epoch of start or lock_all is not open to a rank any more.
    #[inline]
    pub(crate) fn close(&self, gate: &Gate) {
        gate.close();
    }

    /// Lets no call go ahead on a rank any more; a lock that is held stays so.
    pub(crate) fn bar(&self, gate: &Gate) {
        gate.bar();
    }

    /// An event under the engine's lock, which its caller has checked that it can happen; answers the state before.
    #[inline(always)]
    pub(crate) fn on(&self, event: AccessEvent) -> AccessWord {
        let before = self.change(event);
        debug_assert!(before.is_some(), "{event:?} in {:?}", self.word());
        before.unwrap_or_else(|| self.word())
    }

    /// Makes calls take the slow path until it is found out again whether they have to.
    pub(crate) fn own(&self) {
        // Changes of this are made under the engine's lock, so what is owned stays so.
        if !self.is_owned() {
            let _before = self.change_owner(AccessEvent::Own);
        }
    }

    /// [`AccessState::own`], and the change of an epoch by another thread's call is over, of which none begins then.
    pub(crate) fn own_settled(&self) {
        self.own();
        while self.word().is_changing() {
            rest(Next::Yield);
        }
    }

    /// Owns the state or leaves it to calls.
    pub(crate) fn set_owned(&self, is_owned: bool) {
        match (self.is_owned(), is_owned) {
            (false, true) => self.own(),
            (true, false) => {
                let _before = self.change_owner(AccessEvent::Leave);
            }
            (false, false) | (true, true) => {}
        }
    }

    /// Whether calls have to take the slow path. In a forked child all have to, and find out there ([`crate::fork`]).
    #[inline]
    pub(crate) fn is_owned(&self) -> bool {
        let word =
            if self.level == ThreadLevel::Serialized { self.owner(Relaxed) } else { self.word.load(Relaxed) };
        AccessWord(word).is_owned()
    }

    /// Whether a call may open its epoch past the engine, at some moment.
    #[inline]
    pub(crate) fn may_open(&self) -> bool {
        self.word().after(AccessEvent::Open).is_some()
    }

    /// Begins to open an epoch past the engine; `false` when the call has to take the slow path. [`AccessState::end_opening`] follows.
    #[inline]
    pub(crate) fn try_open(&self) -> bool {
        self.change(AccessEvent::Open).is_some()
    }

    /// This epoch is open, or none is, and the call takes the slow path.
    #[inline]
    pub(crate) fn end_opening(&self, epoch: Option<FastEpoch>) {
        let _before = self.change(AccessEvent::EndOpening(epoch));
    }

    /// Begins to end an epoch past the engine; `false` when the call has to take the slow path. [`AccessState::end_closing`] follows.
    #[inline]
    pub(crate) fn try_close(&self, epoch: FastEpoch) -> bool {
        self.change(AccessEvent::Close(epoch)).is_some()
    }

    /// The epoch has ended.
    #[inline]
    pub(crate) fn end_closing(&self) {
        let _before = self.change(AccessEvent::EndClosing);
    }

    /// A transition: answers the state before.
    #[inline(always)]
    fn change(&self, event: AccessEvent) -> Option<AccessWord> {
        match self.level {
            ThreadLevel::Serialized => self.change_by_one(event),
            ThreadLevel::Multiple => self.change_shared(event),
        }
    }

    /// A transition by the only caller, or of what it leaves to the engine.
    #[inline(always)]
    fn change_by_one(&self, event: AccessEvent) -> Option<AccessWord> {
        // The lock is given back whether or not the engine owns the state.
        let owner = if event == AccessEvent::Unlock { 0 } else { self.owner(Relaxed) };
        let before = AccessWord(self.word.load(Relaxed) | owner);
        let AccessWord(next) = before.after(event)?;
        self.word.store(next ^ owner, Relaxed);
        Some(before)
    }

    /// A transition beside other threads.
    #[inline(always)]
    fn change_shared(&self, event: AccessEvent) -> Option<AccessWord> {
        step(&self.word, event)
    }

    /// A change of the state's owner, under the engine's lock.
    #[inline(always)]
    fn change_owner(&self, event: AccessEvent) -> Option<AccessWord> {
        if self.level == ThreadLevel::Multiple {
            return step(&self.word, event);
        }
        // No other thread changes that word meanwhile.
        let before = AccessWord(self.owner(Relaxed));
        let AccessWord(next) = before.after(event)?;
        self.owner.store(upper_half(next), Release);
        Some(before)
    }

    /// With one caller: a word that says whether the engine owns the state.
    #[inline(always)]
    fn owner(&self, order: Ordering) -> u64 {
        u64::from(self.owner.load(order)) << 32
    }
}

/// The half of a word that says whether the engine owns the state.
#[inline(always)]
fn upper_half(word: u64) -> u32 {
    (word >> 32) as u32
}

#[inline(always)]
fn step(word: &AtomicU64, event: AccessEvent) -> Option<AccessWord> {
    let mut before = word.load(Relaxed);
    loop {
        let AccessWord(next) = AccessWord(before).after(event)?;
        match word.compare_exchange_weak(before, next, AcqRel, Relaxed) {
            Ok(_) => return Some(AccessWord(before)),
            Err(found) => before = found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Single;
    use super::*;
    use crate::epoch::{Epoch, Stage};

    const LEVELS: [ThreadLevel; 2] = [ThreadLevel::Serialized, ThreadLevel::Multiple];

    #[test]
    fn a_state_that_the_engine_owns_lets_no_call_in_and_each_out() {
        for level in LEVELS {
            let (state, gates) = (AccessState::new(level), [Gate::default(), Gate::default()]);
            let [one, two] = &gates;
            assert_eq!(state.try_enter(one), None);
            state.set_owned(false);
            assert_eq!(
                (state.try_enter(one), state.try_enter(one), state.try_enter(two)),
                (Some(0), None, Some(1))
            );
            state.own();
            assert_eq!((state.word().locks(), state.word().epoch()), (2, Epoch::PerTarget));
            state.leave(one);
            assert_eq!((state.try_enter(one), one.single()), (None, Single::No));
            assert!(state.enter(two).is_none() && state.enter(one).is_some_and(|before| before.locks() == 1));
            state.leave(one);
            state.set_owned(true);
            assert_eq!(state.word().locks(), 1);
            state.set_owned(false);
            assert_eq!(state.try_enter(one), Some(1));
        }
    }

    #[test]
    fn no_epoch_begins_beside_a_lock_nor_a_lock_in_one_nor_two_of_them() {
        for (level, epoch, other) in LEVELS.into_iter().flat_map(|level| {
            [
                (level, FastEpoch::Started, FastEpoch::AllLocked),
                (level, FastEpoch::AllLocked, FastEpoch::Started),
            ]
        }) {
            let (state, gate) = (AccessState::new(level), &Gate::default());
            assert!(!state.try_open(), "the engine owns it");
            state.set_owned(false);
            assert_eq!((state.may_open(), state.try_enter(gate)), (true, Some(0)));
            assert!(!state.may_open() && !state.try_open());
            state.leave(gate);
            assert!(state.may_open() && state.try_open());
            // Another call comes meanwhile.
            assert!(!state.try_open() && state.try_enter(gate).is_none());
            state.end_opening(None);
            assert!(!state.try_close(epoch) && state.word().epoch() == Epoch::Unset);
            assert!(state.try_open());
            state.end_opening(Some(epoch));
            assert_eq!((state.try_enter(gate), state.may_open(), state.word().locks()), (None, false, 0));
            assert!(!state.try_open() && !state.try_close(other) && state.try_close(epoch));
            state.end_closing();
            assert_eq!(state.try_enter(gate), Some(0));
            state.leave(gate);
            assert!(state.try_open());
            state.end_opening(Some(epoch));
            // The engine looks at it, and leaves it as it was.
            state.own_settled();
            assert!(!state.try_close(epoch));
            state.set_owned(false);
            assert!(state.try_close(epoch));
            state.end_closing();
        }
    }

    #[test]
    fn an_epoch_that_the_engine_ends_is_left_to_no_call() {
        for level in LEVELS {
            let state = AccessState::new(level);
            state.set_owned(false);
            assert!(state.try_open());
            state.end_opening(Some(FastEpoch::Started));
            state.own();
            assert_eq!(state.on(AccessEvent::Reach(Stage::Closing)).epoch(), Epoch::PscwGranted);
            state.set_owned(false);
            assert!(!state.try_close(FastEpoch::Started));
            state.own();
            state.on(AccessEvent::Complete);
            assert_eq!((state.word().epoch(), state.may_open()), (Epoch::Unset, false));
        }
    }
}
