//! The other ranks of the node: those whose control block is mapped here.
//!
//! Where their window memory is mapped too they are [`MappedTarget`](super::MappedTarget)s, and everything goes directly. Memory that a program has of its own
//! (`MPI_Win_create`, dynamic windows) can be reached by its owner alone, but its lock need not be: a *node target* is locked in the word
//! of its control block like a mapped target, inside the call, and only operations are packets. So a lock costs no answer, and an unlock
//! waits for what the operations need and no more.
//!
//! Invariants: a rank is a mapped target or a node target or neither, for the life of the window, and the same to each
//! rank of its node. The lock of a node target is a fact of its gate alone, as a mapped target's: the locks of the
//! epoch ([`crate::epoch`]) have none, and no packet asks for it or gives it back. While the gate lets
//! packets out ([`Gate::may_send`]) operations may leave, whatever the epoch's state. The word is released
//! when everything that was posted is complete at the target, and no other rank changes its memory by right
//! before that. The target's element of the operation table stays, idle, for the next lock, unless elements
//! run short.

use super::{Gate, Shared, WindowState};
use crate::control::{
    Attempt, ControlBlock, Grant, Holder, LockCell, LockKind, LockRequest, NotHeld, Ticket, Wake,
};
use crate::epoch::Epoch;
use crate::ids::Rank;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// A rank whose control block is mapped in this process.
pub(crate) struct NodeRank {
    pub(crate) rank: Rank,
    pub(crate) control: ControlBlock,
    /// What this process is to its lock.
    cell: LockCell,
    /// Whether an epoch is open to this rank alone.
    pub(crate) gate: Gate,
    /// A process died with its lock before this one got it, and the program has not asked yet.
    is_bequeathed: AtomicBool,
}

impl NodeRank {
    pub(crate) fn new(rank: Rank, control: ControlBlock, cell: LockCell) -> Self {
        Self { rank, control, cell, gate: Gate::default(), is_bequeathed: AtomicBool::new(false) }
    }

    /// Takes its lock for this process, as [`ControlBlock::try_acquire`].
    #[inline]
    pub(crate) fn try_acquire(&self, request: LockRequest, holder: Holder) -> bool {
        let entry = self.control.try_acquire_own(&self.cell, request, holder);
        if entry == Attempt::Bequeathed {
            self.note_bequest();
        }
        entry.is_granted()
    }

    #[cold]
    fn note_bequest(&self) {
        self.is_bequeathed.store(true, Relaxed);
    }

    fn noting(&self, turn: std::result::Result<Grant, Ticket>) -> std::result::Result<Grant, Ticket> {
        if turn.as_ref().is_ok_and(|grant| grant.is_bequeathed) {
            self.note_bequest();
        }
        turn
    }

    /// Whether a process had died with its lock when this one got that; once.
    pub(crate) fn take_bequest(&self) -> bool {
        self.is_bequeathed.swap(false, Relaxed)
    }

    /// Joins the line for its lock.
    pub(crate) fn join(&self, request: LockRequest, holder: Holder) -> Ticket {
        self.control.join_own(&self.cell, request, holder)
    }

    /// Takes its lock if it is the ticket's turn; else gives the ticket back.
    pub(crate) fn try_turn(&self, ticket: Ticket) -> std::result::Result<Grant, Ticket> {
        self.noting(self.control.try_turn_own(&self.cell, ticket))
    }

    /// As [`NodeRank::try_turn`], at time `now`, for a ticket that may pass the line.
    pub(crate) fn try_pass(&self, ticket: Ticket, now: Duration) -> std::result::Result<Grant, Ticket> {
        self.noting(self.control.try_pass_own(&self.cell, ticket, now))
    }

    /// Releases its lock; answers which processes to wake.
    #[inline]
    pub(crate) fn release(
        &self,
        kind: LockKind,
        holder: Holder,
    ) -> std::result::Result<Option<Wake>, NotHeld> {
        self.control.release_own(&self.cell, kind, holder)
    }

    /// Releases its lock if no other process holds it or waits for it.
    #[inline]
    pub(crate) fn release_alone(&self, kind: LockKind, holder: Holder) -> bool {
        self.control.release_alone_own(&self.cell, kind, holder)
    }

    /// Gives up this process's request for its lock: it is dead.
    pub(crate) fn give_up(&self) {
        self.control.give_up_own(&self.cell);
    }
}

impl Shared {
    /// A rank of the node whose window memory is not mapped.
    #[inline]
    pub(crate) fn node_target(&self, rank: Rank) -> Option<&NodeRank> {
        let first = self.node_targets.first()?.rank;
        // Mostly they are side by side, but for this rank.
        let me = self.group.me();
        let place = rank.0.wrapping_sub(first.0).wrapping_sub((first < me && me < rank).into());
        match self.node_targets.get(place as usize) {
            Some(node_rank) if node_rank.rank == rank => Some(node_rank),
            _ => self.node_target_by_search(rank),
        }
    }

    #[inline(never)]
    fn node_target_by_search(&self, rank: Rank) -> Option<&NodeRank> {
        let place = self.node_targets.binary_search_by_key(&rank, |node_rank| node_rank.rank).ok()?;
        Some(&self.node_targets[place])
    }

    /// A rank of the node.
    pub(crate) fn node_rank(&self, rank: Rank) -> Option<&NodeRank> {
        self.mapped(rank).map(Deref::deref).or_else(|| self.node_target(rank))
    }

    /// A rank of the node that may be locked without the engine's lock.
    #[inline]
    pub(crate) fn fast_node_rank(&self, rank: Rank) -> Option<&NodeRank> {
        match self.fast(rank) {
            Some(mapped) => Some(mapped),
            None => self.fast_node_target(rank),
        }
    }

    /// A node target that may.
    #[inline]
    pub(crate) fn fast_node_target(&self, rank: Rank) -> Option<&NodeRank> {
        if self.fast.is_empty() { None } else { self.node_target(rank) }
    }

    /// The ranks of the node: mapped targets, and node targets behind them.
    pub(crate) fn node_ranks(&self) -> impl Iterator<Item = &NodeRank> {
        self.mapped.iter().map(Deref::deref).chain(&*self.node_targets)
    }

    /// The first rank of the node from `rank` on, in the order that is the same to all ranks of the node.
    pub(crate) fn node_rank_from(&self, rank: Rank) -> Option<&NodeRank> {
        let mapped = self.mapped.get(self.mapped.partition_point(|mapped| mapped.rank < rank));
        let node_target =
            self.node_targets.get(self.node_targets.partition_point(|node_rank| node_rank.rank < rank));
        mapped.map(Deref::deref).into_iter().chain(node_target).min_by_key(|node_rank| node_rank.rank)
    }

    /// Whether a rank is locked as a node target, alone or with all, so that communication calls are legal.
    #[inline]
    pub(crate) fn is_node_target_locked(&self, rank: Rank) -> bool {
        self.node_target(rank).is_some_and(|node_rank| node_rank.gate.is_locked())
    }

    /// Whether packets may go to a rank under the lock of a node target.
    #[inline]
    pub(crate) fn may_send_to_node_target(&self, rank: Rank) -> bool {
        self.node_target(rank).is_some_and(|node_rank| node_rank.gate.may_send())
    }
}

impl WindowState {
    /// Whether the lock of a rank is held, by itself or with all others.
    pub(crate) fn is_granted(&self, rank: Rank) -> bool {
        self.shared.may_send_to_node_target(rank)
            || self.access().epoch() == Epoch::LockAllGranted
            || self.epoch.is_granted(rank)
    }
}
