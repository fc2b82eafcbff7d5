//! What the open epoch permits towards a rank whose memory is reached by packets: the one place that the fast paths ask.
//!
//! The permission holds while nothing else goes on in the window: then a call changes nothing but operations,
//! may work on the window where it lies, and nothing has to be found out again afterwards.

use super::{Lock, WindowState};
use crate::epoch::{Epoch, LockStage, Stage};
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
    #[inline]
    pub(crate) fn permission(&self, rank: Rank) -> Permission {
        if self.holds_node_target(rank) { Permission::Held } else { self.otherwise(rank) }
    }

    /// Whether the permission is that a node target's lock is held, which its gate says alone.
    #[inline]
    pub(crate) fn holds_node_target(&self, rank: Rank) -> bool {
        self.shared.is_node_target_locked(rank) && self.is_open()
    }

    /// Whether nothing goes on but an access epoch that is open.
    #[inline]
    fn is_open(&self) -> bool {
        self.has_nothing_else() && self.access().stage() == Stage::Open
    }

    #[inline(never)]
    fn otherwise(&self, rank: Rank) -> Permission {
        if self.is_open() { self.of_epoch(self.access().epoch(), rank) } else { Permission::None }
    }

    fn of_epoch(&self, state: Epoch, rank: Rank) -> Permission {
        match state {
            Epoch::LockAllGranted => Permission::Held,
            Epoch::LockAllCalled | Epoch::PerTarget => {
                self.epoch.lock(rank).map_or(Permission::None, of_lock)
            }
            Epoch::FenceGranted if self.is_fenced(rank) => Permission::Fenced,
            state if state.is_pscw() && self.is_started_with_node_targets(rank) => Permission::Started,
            _ => Permission::None,
        }
    }

    /// Whether communication calls and flushes towards `rank` are legal under its lock, and change nothing but that.
    pub(crate) fn permits_calls(&self, rank: Rank) -> bool {
        matches!(self.permission(rank), Permission::Promised | Permission::Held)
    }

    /// Whether an epoch of start is open in which all its targets have [`Permission::Started`].
    pub(crate) fn has_started_node_targets(&self) -> bool {
        let first = self.epoch.access.group().first();
        first.is_some_and(|rank| self.permission(*rank) == Permission::Started)
    }

    fn is_fenced(&self, rank: Rank) -> bool {
        self.notifies_one()
            && self.shared.uniform.is_some()
            && self.shared.node_target(rank).is_some()
            && !self.is_exposed()
    }

    fn is_started_with_node_targets(&self, rank: Rank) -> bool {
        let access = &self.epoch.access;
        access.is_of_node_targets() && access.contains(rank)
    }
}

fn of_lock(lock: &Lock) -> Permission {
    match lock.state {
        _ if lock.closing => Permission::None,
        LockStage::Granted => Permission::Held,
        LockStage::Called | LockStage::Issued => Permission::Promised,
    }
}
