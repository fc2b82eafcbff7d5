//! What the open epoch permits towards a rank whose memory is reached by packets: the one place that the fast paths ask.
//!
//! It is permitted while nothing else goes on in the window: then a call changes nothing but operations, may work on the window where it
//! lies, and nothing has to be found out again afterwards.

use super::WindowState;
use crate::epoch::{Epoch, Lock, LockState, Stage};
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
    /// The epoch of a fence that nothing but the next fence can end, by packets of the two ranks of the window, whose memory both know.
    Fenced,
    /// An epoch of start that reaches no other rank: nothing but complete can end it, and has nobody else to tell.
    Started,
}

impl WindowState {
    /// What the open epoch permits towards a rank that is not mapped.
    pub(crate) fn permission(&self, rank: Rank) -> Permission {
        if !self.has_nothing_else() {
            return Permission::None;
        }
        let epoch = &self.epoch;
        match epoch.state() {
            Epoch::Unset => self.of_lock(None, rank),
            Epoch::PerTarget => self.of_lock(epoch.lock(rank), rank),
            Epoch::LockAllGranted if epoch.stage() == Stage::Open => Permission::Held,
            Epoch::LockAllCalled if epoch.stage() == Stage::Open => self.of_lock(epoch.lock(rank), rank),
            Epoch::FenceGranted if self.is_fenced(rank) => Permission::Fenced,
            state if state.is_pscw() && self.is_only_started(rank) => Permission::Started,
            _ => Permission::None,
        }
    }

    /// Whether communication calls and flushes towards `rank` are legal under its lock, and change nothing but that.
    pub(crate) fn is_calm(&self, rank: Rank) -> bool {
        matches!(self.permission(rank), Permission::Promised | Permission::Held)
    }

    /// The rank that the open epoch of start reaches, if that is [`Permission::Started`].
    pub(crate) fn only_started(&self) -> Option<Rank> {
        let [rank] = *self.epoch.access.group() else { return None };
        (self.permission(rank) == Permission::Started).then_some(rank)
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
        self.target.arrivals.is_some()
            && self.shared.uniform.is_some()
            && self.shared.neighbor(rank).is_some()
            && !self.target.exposure.is_open()
    }

    fn is_only_started(&self, rank: Rank) -> bool {
        *self.epoch.access.group() == [rank]
            && self.epoch.stage() == Stage::Open
            && self.shared.neighbor(rank).is_some()
    }
}
