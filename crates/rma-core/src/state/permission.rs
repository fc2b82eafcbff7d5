//! What the open epoch permits towards a rank whose memory is reached by packets: the one place that the fast paths ask.
//!
//! The permission holds while nothing else goes on in the window: then a call changes nothing but operations,
//! may work on the window where it lies, and nothing has to be found out again afterwards.

use super::{Lock, WindowState};
use crate::epoch::{Epoch, LockState, Stage};
use crate::ids::Rank;

/// What is open to a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// Nothing, or more goes on in the window than that.
    None,
    /// Its lock has been called for.
    Promised,
    /// Its lock is held, by itself or with all others: operations may leave.
    Held,
    /// The epoch of a fence that nothing but the next fence can end, by a word to this rank alone, where both know the other's memory.
    Fenced,
    /// An epoch of start that reaches ranks of the node alone, none of them mapped: nothing but complete can
    /// end it, and has no other rank to notify.
    Started,
}

impl WindowState {
    /// What the open epoch permits towards a rank that is not mapped.
    pub(crate) fn permission(&self, rank: Rank) -> Permission {
        if !self.has_nothing_else() {
            return Permission::None;
        }
        let (access, epoch) = (self.access(), &self.epoch);
        match access.epoch() {
            Epoch::Unset => self.of_lock(None, rank),
            Epoch::PerTarget => self.of_lock(epoch.lock(rank), rank),
            Epoch::LockAllGranted if access.stage() == Stage::Open => Permission::Held,
            Epoch::LockAllCalled if access.stage() == Stage::Open => self.of_lock(epoch.lock(rank), rank),
            Epoch::FenceGranted if self.is_fenced(rank) => Permission::Fenced,
            state if state.is_pscw() && self.is_started_with_neighbors(rank) => Permission::Started,
            _ => Permission::None,
        }
    }

    /// Whether communication calls and flushes towards `rank` are legal under its lock, and change nothing but that.
    pub(crate) fn permits_calls(&self, rank: Rank) -> bool {
        matches!(self.permission(rank), Permission::Promised | Permission::Held)
    }

    /// Whether an epoch of start is open in which all its targets have [`Permission::Started`].
    pub(crate) fn has_started_neighbors(&self) -> bool {
        let first = self.epoch.access.group().first();
        first.is_some_and(|rank| self.permission(*rank) == Permission::Started)
    }

    fn of_lock(&self, lock: Option<&Lock>, rank: Rank) -> Permission {
        match lock {
            Some(lock) if lock.closing => Permission::None,
            Some(lock) if lock.state == LockState::Granted => Permission::Held,
            Some(_) => Permission::Promised,
            None if self.shared.is_neighbor_locked(rank) => Permission::Held,
            None => Permission::None,
        }
    }

    fn is_fenced(&self, rank: Rank) -> bool {
        self.tells_one()
            && self.shared.uniform.is_some()
            && self.shared.neighbor(rank).is_some()
            && !self.is_exposed()
    }

    fn is_started_with_neighbors(&self, rank: Rank) -> bool {
        let access = &self.epoch.access;
        access.is_of_neighbors() && self.access().stage() == Stage::Open && access.contains(rank)
    }
}
