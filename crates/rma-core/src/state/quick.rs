//! What synchronization without the engine's lock knows of a window, and the change from that to what the engine knows.
//!
//! What of a window's state has come about without the lock:
//!
//! * fence: nothing but the door. The window's epoch is that of a fence before and after;
//! * start and complete: the access state says that the epoch is open, `started` which ranks it reaches;
//! * post and wait: `exposed` says both;
//! * lock_all and unlock_all: the access state says that the locks of all ranks are held.
//!
//! Calls that need the engine's view of it take it over first ([`WindowState::absorb`]): from then on the epoch is one like any other,
//! and is ended under the engine's lock.

use super::{FastEpoch, Shared, WindowState};
use crate::control::{Marks, Taken};
use crate::epoch::Epoch;
use crate::fork;
use crate::ids::Rank;
use crate::mem::full_ordering_beside_step;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::AcqRel, Ordering::Relaxed};

/// Most ranks of a group.
const MOST: usize = 4;

/// Bits of a place in a list of few.
const PLACE_BITS: usize = 12;
const _: () = assert!(Marks::PLACES < 1 << PLACE_BITS && MOST * PLACE_BITS < 63);

/// Set in a word of [`QuickSync::exposed`] while the epoch is open.
pub(crate) const EXPOSED: u64 = 1 << 63;

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
    pub(crate) started: AtomicU64,
    /// The origins of the exposure epoch, and whether there is one.
    pub(crate) exposed: AtomicU64,
    /// Posts that this rank has seen.
    pub(crate) posts: Taken,
    /// Ranks that this one has seen to be done.
    pub(crate) dones: Taken,
}

/// Up to four members that have marks, in one word: their places + 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Few(pub(crate) u64);

impl Few {
    /// The ranks of a group; `None` when they are too many, named twice, not all mapped, or this one is among them.
    #[inline]
    pub(crate) fn of(shared: &Shared, group: &[Rank]) -> Option<Self> {
        if group.len() > MOST {
            return None;
        }
        let mut few = Self::default();
        for rank in group {
            let place = rank.0.wrapping_sub(shared.first.0) as usize;
            let is_there = shared.members.get(place).is_some_and(|member| member.rank == *rank);
            if !is_there
                || place.max(shared.own) >= Marks::PLACES
                || place == shared.own
                || few.places().any(|other| other == place)
            {
                return None;
            }
            few.0 = few.0 << PLACE_BITS | (place as u64 + 1);
        }
        Some(few)
    }

    #[inline]
    pub(crate) fn places(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let place = (rest & ((1 << PLACE_BITS) - 1)).checked_sub(1)?;
            rest >>= PLACE_BITS;
            Some(place as usize)
        })
    }

    /// Ascending.
    pub(crate) fn ranks(self, shared: &Shared) -> Box<[Rank]> {
        let mut ranks: Box<[Rank]> = self.places().map(|place| shared.members[place].rank).collect();
        ranks.sort_unstable();
        ranks
    }
}

impl QuickSync {
    pub(crate) fn new() -> Self {
        Self {
            calls: AtomicU8::new(0),
            started: AtomicU64::new(0),
            exposed: AtomicU64::new(0),
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

    /// Whether an exposure epoch is open that the engine does not know of.
    #[inline]
    pub(crate) fn is_exposed(&self) -> bool {
        self.exposed.load(Relaxed) & EXPOSED != 0
    }

    fn take_exposed(&self) -> Option<Few> {
        if !self.is_exposed() {
            return None;
        }
        let word = self.exposed.swap(0, AcqRel);
        (word & EXPOSED != 0).then_some(Few(word & !EXPOSED))
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
            let group = Few(self.shared.active.started.load(Relaxed)).ranks(&self.shared);
            self.epoch.open_posted(group);
        }
        if self.shared.access.take(FastEpoch::AllLocked) {
            self.epoch.open_all_locked();
        }
        if let Some(origins) = self.shared.active.take_exposed() {
            self.target.exposure.open(&origins.ranks(&self.shared));
        }
    }
}

impl Shared {
    /// Changes the word of the exposure epoch, if it is what it was seen to be.
    #[inline]
    pub(crate) fn change_exposed(&self, from: u64, to: u64) -> bool {
        let exposed = &self.active.exposed;
        if self.access.has_epochs_of_one() {
            let is_so = exposed.load(Relaxed) == from;
            if is_so {
                exposed.store(to, Relaxed);
            }
            return is_so;
        }
        exposed.compare_exchange(from, to, AcqRel, Relaxed).is_ok()
    }

    /// Ends the epoch of a lock_all call but for its locks; `false`, and nothing done, when the call has to take the long way.
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

    #[test]
    fn a_list_of_few_holds_the_first_and_the_last_place() {
        let places = [0, Marks::PLACES - 1, 7, 1];
        let few =
            places.iter().fold(Few::default(), |few, place| Few(few.0 << PLACE_BITS | (*place as u64 + 1)));
        let mut found: Vec<_> = few.places().collect();
        found.reverse();
        assert_eq!(found, places);
        assert_eq!(few.0 & EXPOSED, 0);
        assert_eq!(Few::default().places().count(), 0);
    }
}
