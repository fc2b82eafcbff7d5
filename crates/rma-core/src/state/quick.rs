//! What synchronization without the engine's lock knows of a window, and the change from that to what the engine knows.
//!
//! What of a window's state has come about without the lock:
//!
//! * fence: nothing but the door. The window's epoch is that of a fence before and after;
//! * start and complete: the access state says that the epoch is open, `started` which ranks it reaches;
//! * post and wait: `exposed` says both. Groups of any size: a set of places is a bit each;
//! * lock_all and unlock_all: the access state says that the locks of all ranks are held.
//!
//! Calls that need the engine's view of it take it over first ([`WindowState::absorb`]): from then on the epoch is one like any other,
//! and is ended under the engine's lock.

use super::{FastEpoch, Near, Shared, WindowState};
use crate::control::{KeptPlaces, LockRequest, Marks, Places, Taken};
use crate::epoch::Epoch;
use crate::fork;
use crate::ids::Rank;
use crate::mem::full_ordering_beside_step;
use std::sync::atomic::{
    AtomicU8, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

pub(crate) const FENCE: u8 = 1;
/// Start and complete.
pub(crate) const START: u8 = 2;
pub(crate) const POST: u8 = 4;
/// Lock_all and unlock_all.
pub(crate) const LOCK_ALL: u8 = 8;

/// Which calls may be made without the engine's lock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QuickCalls(u8);

/// What active synchronization without the engine's lock knows of a window.
#[derive(Debug)]
pub(crate) struct QuickSync {
    calls: AtomicU8,
    /// The ranks that the epoch of start reaches, while the access state says that there is one.
    pub(crate) started: KeptPlaces,
    exposed: Exposed,
    /// Posts that this rank has seen.
    pub(crate) posts: Taken,
    /// Ranks that this one has seen to be done.
    pub(crate) dones: Taken,
}

/// The exposure epoch that was opened without the engine's lock: a word that says whether there is one, and its origins.
///
/// ```text
/// closed ──▶ changing ──▶ open ──▶ closed, by wait or by the engine, which takes the epoch over
/// ```
///
/// The word counts the epochs above its two flags, so that one is not ended in the place of another.
#[derive(Debug, Default)]
struct Exposed {
    word: AtomicU64,
    /// As `word` says, which is read before and changed after.
    origins: KeptPlaces,
}

/// An exposure epoch that is open without the engine, as it was seen.
#[derive(Debug)]
pub(crate) struct OpenExposure {
    word: u64,
    pub(crate) origins: Places,
}

const IS_OPEN: u64 = 1;
/// The origins are being written, which waits for nothing.
const IS_CHANGING: u64 = 2;
const ONE_EPOCH: u64 = 4;

impl QuickSync {
    pub(crate) fn new() -> Self {
        Self {
            calls: AtomicU8::new(0),
            started: KeptPlaces::default(),
            exposed: Exposed::default(),
            posts: Taken::new(),
            dones: Taken::new(),
        }
    }

    /// Notes which calls are quick from now on.
    pub(crate) fn set_calls(&self, calls: QuickCalls) {
        if self.calls.load(Relaxed) != calls.0 {
            self.calls.store(calls.0, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn has(&self, call: u8) -> bool {
        self.calls.load(Relaxed) & call != 0 && !fork::is_child()
    }

    /// Whether an exposure epoch is open, or being opened, that the engine does not know of.
    #[inline]
    pub(crate) fn is_exposed(&self) -> bool {
        self.exposed.word.load(Relaxed) & (IS_OPEN | IS_CHANGING) != 0
    }

    /// The exposure epoch that is open without the engine.
    #[inline]
    pub(crate) fn exposure(&self) -> Option<OpenExposure> {
        let word = self.exposed.word.load(Acquire);
        (word & IS_OPEN != 0).then(|| OpenExposure { word, origins: self.exposed.origins.get() })
    }

    /// Takes the exposure epoch over. Under the engine's lock.
    fn take_exposure(&self) -> Option<Places> {
        loop {
            // Another thread's post call may be under way; it ends without waiting for anything.
            while self.exposed.word.load(Acquire) & IS_CHANGING != 0 {
                std::thread::yield_now();
            }
            let open = self.exposure()?;
            if self.exposed.change(open.word, open.word & !IS_OPEN, false) {
                return Some(open.origins);
            }
        }
    }
}

impl Exposed {
    /// Changes the word, if it is what it was seen to be.
    #[inline]
    fn change(&self, from: u64, to: u64, is_of_one: bool) -> bool {
        if is_of_one {
            let is_so = self.word.load(Relaxed) == from;
            if is_so {
                self.word.store(to, Relaxed);
            }
            return is_so;
        }
        self.word.compare_exchange(from, to, AcqRel, Relaxed).is_ok()
    }
}

impl WindowState {
    /// Which calls find nothing but what they change themselves.
    pub(crate) fn quick_calls(&self) -> QuickCalls {
        let has_more = self.has_lost || !self.dropped.is_empty();
        let may = self.shared.are_all_quick_to_lock() && self.error.is_none() && !has_more;
        if !may {
            return QuickCalls::default();
        }
        // The access state says the rest.
        let is_unset = self.epoch.state() == Epoch::Unset;
        let bit = |call, is_quick| if is_quick { call } else { 0 };
        let locks = bit(LOCK_ALL, is_unset);
        if !self.shared.are_all_quick() {
            return QuickCalls(locks);
        }
        let is_exposed = self.target.exposure.is_open();
        let fence = self.epoch.state() == Epoch::FenceGranted && self.opening.is_none() && !is_exposed;
        let start = is_unset && !self.epoch.access.has_early();
        QuickCalls(locks | bit(FENCE, fence) | bit(START, start) | bit(POST, !is_exposed))
    }

    /// Takes over what was opened without the engine's lock. If there is something, the engine owns the access state until
    /// the borrow of the window ends.
    pub(crate) fn absorb(&mut self) {
        if !self.shared.access.may_have_epoch() && !self.shared.active.is_exposed() {
            return;
        }
        self.shared.access.own();
        // Calls that change the access epoch from two threads at once are an error, but one that is to be told.
        self.shared.access.settle();
        if self.shared.access.take(FastEpoch::Started) {
            let group = self.shared.active.started.get();
            self.epoch.open_posted(&self.shared.ranks_of(&group));
        }
        if self.shared.access.take(FastEpoch::AllLocked) {
            self.epoch.open_all_locked();
        }
        if let Some(origins) = self.shared.active.take_exposure() {
            self.target.exposure.open(&self.shared.ranks_of(&origins));
        }
    }
}

impl Shared {
    /// The places of a group's ranks; `None` when one has no mark here, is this one, or is named twice.
    #[inline]
    pub(crate) fn places_of(&self, group: &[Rank]) -> Option<Places> {
        let mut places = Places::default();
        for rank in group {
            let place = rank.0.wrapping_sub(self.first.0) as usize;
            let is_there = self.members.get(place).is_some_and(|member| member.rank == *rank);
            let has_mark = place.max(self.own) < Marks::PLACES && place != self.own;
            if !(is_there && has_mark && places.insert(place)) {
                return None;
            }
        }
        Some(places)
    }

    /// The ranks at these places, ascending.
    fn ranks_of(&self, places: &Places) -> Box<[Rank]> {
        places.iter().map(|place| self.members[place].rank).collect()
    }

    /// Opens an exposure epoch to these origins; `false`, and nothing done, when one is open.
    #[inline]
    pub(crate) fn open_exposure(&self, origins: &Places) -> bool {
        let (exposed, is_of_one) = (&self.active.exposed, self.access.has_epochs_of_one());
        let word = exposed.word.load(Relaxed);
        if word & (IS_OPEN | IS_CHANGING) != 0 || !exposed.change(word, word | IS_CHANGING, is_of_one) {
            return false;
        }
        exposed.origins.set(origins);
        exposed.word.store(word.wrapping_add(ONE_EPOCH) | IS_OPEN, Release);
        true
    }

    /// Ends an exposure epoch; `false`, and nothing done, when that is not the one that is open any more.
    #[inline]
    pub(crate) fn close_exposure(&self, open: &OpenExposure) -> bool {
        let is_of_one = self.access.has_epochs_of_one();
        self.active.exposed.change(open.word, open.word & !IS_OPEN, is_of_one)
    }

    /// A lock_all call without the engine's lock; `None`, and nothing changed, when it has to take the slow path. Else how many ranks of
    /// the node were locked in vain, the first ones, whose locks are to be given back.
    #[inline]
    pub(crate) fn try_lock_all(&self) -> Option<std::result::Result<(), usize>> {
        if !self.active.has(LOCK_ALL) || !self.access.try_open() {
            return None;
        }
        // Those that stand in line are passed at no rank: the slow path stands in line too.
        let acquire = |near: &&Near| near.try_acquire(LockRequest::Shared, self.holder);
        let held = self.all_near().take_while(acquire).count();
        let are_held = held == self.members.len() + self.neighbors.len();
        // SYNC POINT L2: the step on the last lock word comes just before.
        full_ordering_beside_step();
        if are_held {
            self.all_near().for_each(|near| near.gate.set_locked_with_all());
        }
        self.access.end_opening(are_held.then_some(FastEpoch::AllLocked));
        Some(if are_held { Ok(()) } else { Err(held) })
    }

    /// Ends the epoch of a lock_all call but for its locks; `false`, and nothing done, when the call has to take the slow path.
    #[inline]
    pub(crate) fn close_all_locked(&self) -> bool {
        if !self.access.try_close(FastEpoch::AllLocked) {
            return false;
        }
        self.all_near().for_each(|near| near.gate.close());
        // SYNC POINT L1: the steps on the lock words come behind.
        full_ordering_beside_step();
        self.access.end_closing();
        true
    }

    /// The place of a rank that has not come to a meeting, the first one from `from` on.
    #[inline]
    pub(crate) fn absent(&self, number: u64, from: usize) -> Option<usize> {
        (from..self.members.len()).find(|place| !self.members[*place].control.meeting().has_come(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(exposed: &Exposed, origins: &[usize]) {
        let mut places = Places::default();
        assert!(origins.iter().all(|origin| places.insert(*origin)));
        let word = exposed.word.load(Relaxed);
        assert!(exposed.change(word, word | IS_CHANGING, false));
        exposed.origins.set(&places);
        exposed.word.store((word + ONE_EPOCH) | IS_OPEN, Release);
    }

    #[test]
    fn an_exposure_epoch_is_ended_once_and_not_in_the_place_of_another() {
        let quick = QuickSync::new();
        assert!(!quick.is_exposed() && quick.exposure().is_none() && quick.take_exposure().is_none());
        open(&quick.exposed, &[3, 200]);
        let seen = quick.exposure().unwrap();
        assert!(quick.is_exposed() && seen.origins.iter().eq([3, 200]));
        assert!(quick.take_exposure().is_some() && quick.take_exposure().is_none());
        open(&quick.exposed, &[3, 200]);
        assert!(!quick.exposed.change(seen.word, seen.word & !IS_OPEN, false), "it was another one");
        let seen = quick.exposure().unwrap();
        assert!(quick.exposed.change(seen.word, seen.word & !IS_OPEN, true) && !quick.is_exposed());
    }
}
