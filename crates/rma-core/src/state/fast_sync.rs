//! What synchronization without the engine's lock knows of a window beside its access state:
//!
//! * fence: nothing but the gate of its epoch. The window's epoch is that of a fence before and after;
//! * start and complete: the access state says that the epoch is open, and that `started` has the ranks that it reaches;
//! * post and wait: `exposure` says both. Groups of any size: a set of places is a bit each;
//! * lock_all and unlock_all: the access state says that the locks of all ranks are held.
//!
//! Calls under the engine's lock find the same facts there, and any of them may end such an epoch.

use super::{ExposureEpoch, NodeRank, Shared, ThreadLevel, WindowState};
use crate::control::{KeptPlaces, LockRequest, Marks, Places, Taken};
use crate::epoch::{Epoch, FastEpoch};
use crate::ids::Rank;
use crate::mem::full_ordering_beside_step;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

pub(crate) const FENCE: u8 = 1;
/// Start and complete.
pub(crate) const START: u8 = 2;
pub(crate) const POST: u8 = 4;
/// Lock_all and unlock_all.
pub(crate) const LOCK_ALL: u8 = 8;

/// Which calls may be made without the engine's lock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FastCalls(u8);

/// What active synchronization without the engine's lock knows of a window.
#[derive(Debug)]
pub(crate) struct FastSync {
    calls: AtomicU8,
    /// The ranks that the epoch of start reaches, while the access state says that there is one.
    pub(crate) started: KeptPlaces,
    pub(crate) exposure: ExposureEpoch,
    /// Posts that this rank has seen.
    pub(crate) posts: Taken,
    /// Ranks that this one has seen to be done.
    pub(crate) dones: Taken,
}

impl FastSync {
    pub(crate) fn new(level: ThreadLevel) -> Self {
        Self {
            calls: AtomicU8::new(0),
            started: KeptPlaces::default(),
            exposure: ExposureEpoch::new(level),
            posts: Taken::new(),
            dones: Taken::new(),
        }
    }

    /// Notes which calls are quick from now on.
    pub(crate) fn set_calls(&self, calls: FastCalls) {
        if self.calls.load(Relaxed) != calls.0 {
            self.calls.store(calls.0, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn has(&self, call: u8) -> bool {
        self.calls.load(Relaxed) & call != 0
    }
}

impl WindowState {
    /// Which calls find nothing but what they change themselves.
    pub(crate) fn fast_calls(&self) -> FastCalls {
        let has_more = self.has_lost || !self.dropped.is_empty();
        let may = self.shared.are_all_fast_to_lock() && self.error.is_none() && !has_more;
        if !may {
            return FastCalls::default();
        }
        // The access state says the rest.
        let is_left = !self.has_own_epoch();
        let bit = |call, is_fast| if is_fast { call } else { 0 };
        let locks = bit(LOCK_ALL, is_left);
        if !self.shared.are_all_fast() {
            return FastCalls(locks);
        }
        let fence =
            self.access().epoch() == Epoch::FenceGranted && self.opening.is_none() && !self.is_exposed();
        let start = is_left && !self.epoch.access.has_early();
        FastCalls(
            locks
                | bit(FENCE, fence)
                | bit(START, start)
                | bit(POST, !self.shared.active.exposure.is_engines()),
        )
    }
}

impl Shared {
    /// The places of a group's ranks; `None` when one has no mark here, is this one, or is named twice.
    #[inline]
    pub(crate) fn places_of(&self, group: &[Rank]) -> Option<Places> {
        if self.own >= Marks::PLACES {
            return None;
        }
        let place = |rank: &Rank| {
            let place = rank.0.wrapping_sub(self.first.0) as usize;
            let mapped = self.mapped.get(place)?;
            (mapped.rank == *rank && place != self.own).then_some(place)
        };
        Places::of(group.iter().map(place))
    }

    /// The ranks at these places, ascending.
    pub(super) fn ranks_of<'a>(&'a self, places: &'a Places) -> impl Iterator<Item = Rank> + 'a {
        places.iter().map(|place| self.mapped[place].rank)
    }

    /// Whether a call past the engine has opened the epoch of start that is open.
    pub(crate) fn has_fast_start(&self) -> bool {
        let word = self.access.word();
        word.is_fast() && word.epoch().is_pscw()
    }

    /// Whether such an epoch reaches `rank`.
    pub(crate) fn is_started(&self, rank: Rank) -> bool {
        self.marked(rank).is_some_and(|(place, _)| self.active.started.get().contains(place))
    }

    /// The ranks that it reaches, ascending.
    pub(crate) fn started(&self) -> impl Iterator<Item = Rank> + '_ {
        let places = self.active.started.get();
        let ranks = self.mapped.iter().enumerate().filter(move |(place, _)| places.contains(*place));
        ranks.map(|(_, mapped)| mapped.rank)
    }

    /// A lock_all call without the engine's lock; `None`, and nothing changed, when it has to take the slow
    /// path. Otherwise, if a lock is not free, the number of ranks that were locked before it, to be unlocked
    /// again.
    #[inline]
    pub(crate) fn try_lock_all(&self) -> Option<std::result::Result<(), usize>> {
        if !self.active.has(LOCK_ALL) || !self.access.try_open() {
            return None;
        }
        // Those that stand in line are passed at no rank: the slow path stands in line too.
        let acquire = |node_rank: &&NodeRank| node_rank.try_acquire(LockRequest::Shared, self.holder);
        let held = self.node_ranks().take_while(acquire).count();
        let are_held = held == self.mapped.len() + self.node_targets.len();
        // SYNC POINT L2: the step on the last lock word comes just before.
        full_ordering_beside_step();
        if are_held {
            self.node_ranks().for_each(|node_rank| self.access.open_locked_with_all(&node_rank.gate));
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
        self.node_ranks().for_each(|node_rank| self.access.close(&node_rank.gate));
        // SYNC POINT L1: the steps on the lock words come behind.
        full_ordering_beside_step();
        self.access.end_closing();
        true
    }

    /// The place of a rank that has not come to a meeting, the first one from `from` on.
    #[inline]
    pub(crate) fn absent(&self, number: u64, from: usize) -> Option<usize> {
        (from..self.mapped.len()).find(|place| !self.mapped[*place].control.meeting().has_come(number))
    }
}
