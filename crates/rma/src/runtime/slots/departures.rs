//! The collective slots of a process: those in use, and those that it has left and others may still read.
//!
//! A rank that frees its communicator tells each other rank, beside that one's slots, that it reads them no more. Its
//! own are given back when all others have told it so.
//!
//! A process that ends its part in the job says so beside all slots that it has, in whichever communicator.

use super::meeting::{Caller, MemberSlots};
use super::rank_slots::RankSlots;
use parking_lot::Mutex;
use rma_core::Result;
use rma_core::host::SegmentSet;
use std::fmt;
use std::sync::Arc;

/// The collective slots of all communicators of a process.
#[derive(Default)]
pub(crate) struct Departures {
    in_use: Mutex<Vec<Arc<MemberSlots>>>,
    /// Those that wait for the departure of others.
    left: Mutex<Vec<Left>>,
}

struct Left {
    segment: SegmentSet,
    own: RankSlots,
    others: u64,
}

impl Left {
    fn is_over(&self) -> bool {
        self.own.departures() >= self.others
    }
}

impl Departures {
    /// Slots that are used from now on, until they are added to those that were left.
    pub(super) fn enter(&self, members: &Arc<MemberSlots>) {
        self.in_use.lock().push(Arc::clone(members));
    }

    /// They are used no more.
    pub(super) fn leave(&self, members: &Arc<MemberSlots>) {
        self.in_use.lock().retain(|other| !Arc::ptr_eq(other, members));
    }

    /// Says beside all slots in use that this process joins nothing any more, and wakes the ranks that wait for it.
    ///
    /// # Errors
    /// As `Engine::notify`.
    pub(crate) fn say_left(&self, caller: Caller<'_>) -> Result<()> {
        let in_use = self.in_use.lock();
        // All are notified, even after one fails.
        let outcomes: Vec<_> = in_use.iter().map(|members| members.say_left(caller)).collect();
        outcomes.into_iter().collect()
    }

    /// Gives back what the slots of a communicator lie in, when all others have left this rank's, which lies in it too.
    pub(super) fn add(&self, segment: SegmentSet, own: RankSlots, others: u64) {
        self.left.lock().push(Left { segment, own, others });
        self.sweep();
    }

    /// Gives back what can be.
    pub(super) fn sweep(&self) {
        // Nothing is given back under the lock.
        let over: Vec<_> = self.left.lock().extract_if(.., |left| left.is_over()).collect();
        drop(over);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.left.lock().len()
    }
}

impl Drop for Departures {
    /// The rank ends: what others may still read is left.
    fn drop(&mut self) {
        self.sweep();
        self.left.get_mut().drain(..).for_each(|left| left.segment.leave());
    }
}

impl fmt::Debug for Departures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Departures")
            .field("in_use", &self.in_use.lock().len())
            .field("left", &self.left.lock().len())
            .finish()
    }
}
