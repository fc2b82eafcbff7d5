//! The other ranks of the node: those whose control block is mapped here.
//!
//! Where their window memory is mapped too they are [`Member`]s, and everything goes directly. Memory that a program has of its own
//! (`MPI_Win_create`, dynamic windows) can be reached by its owner alone, but its lock need not be: a *neighbor* is locked in the word
//! of its control block like a member, inside the call, and only operations are packets. So a lock costs no answer, and an unlock
//! waits for what the operations need and no more.
//!
//! Invariants: a rank is a member or a neighbor or neither, for the life of the window, and the same to each rank of its node. The
//! lock of a neighbor is a fact of its gate alone, as a member's: the access side ([`crate::epoch`]) knows of none, and no packet asks
//! for it or gives it back. While the gate lets packets out ([`Gate::may_send`]) operations may leave, whatever the epoch's state.
//! The word is released when everything that was posted is complete at the target, and nobody else changes its memory by right
//! before that. The target's element of the operation table stays, idle, for the next lock, unless elements run short.

use super::calls::Window;
use super::latch::{Gate, Single};
use super::shared::Shared;
use super::state::WindowState;
use crate::control::{
    Attempt, ControlBlock, Grant, Holder, LockCell, LockKind, LockRequest, NotHeld, Ticket, Wake,
};
use crate::epoch::{Call, FlushSync, Reach, Sync, SyncStep};
use crate::error::Result;
use crate::ids::Rank;
use crate::progress::{Core, State};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// A rank whose control block is mapped in this process.
pub(crate) struct Near {
    pub(crate) rank: Rank,
    pub(crate) control: ControlBlock,
    /// What this process is to its lock.
    cell: LockCell,
    /// Whether an epoch is open to this rank alone.
    pub(crate) gate: Gate,
    /// A process had died with its lock when this one got that, and nobody has asked yet.
    is_bequeathed: AtomicBool,
}

impl Near {
    pub(super) fn new(rank: Rank, control: ControlBlock, cell: LockCell) -> Self {
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
    pub(super) fn take_bequest(&self) -> bool {
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

    /// As [`Near::try_turn`], at time `now`, for a ticket that may pass the line.
    pub(crate) fn try_pass(&self, ticket: Ticket, now: Duration) -> std::result::Result<Grant, Ticket> {
        self.noting(self.control.try_pass_own(&self.cell, ticket, now))
    }

    /// Releases its lock; answers whom to ring.
    #[inline]
    pub(crate) fn release(
        &self,
        kind: LockKind,
        holder: Holder,
    ) -> std::result::Result<Option<Wake>, NotHeld> {
        self.control.release_own(&self.cell, kind, holder)
    }

    /// Releases its lock if nobody else holds it or waits for it.
    #[inline]
    pub(super) fn release_alone(&self, kind: LockKind, holder: Holder) -> bool {
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
    pub(crate) fn neighbor(&self, rank: Rank) -> Option<&Near> {
        let place = self.neighbors.binary_search_by_key(&rank, |near| near.rank).ok()?;
        Some(&self.neighbors[place])
    }

    /// A rank of the node.
    pub(crate) fn near(&self, rank: Rank) -> Option<&Near> {
        self.member(rank).map(Deref::deref).or_else(|| self.neighbor(rank))
    }

    /// A rank of the node that may be locked without the engine's lock.
    #[inline]
    pub(super) fn quick_near(&self, rank: Rank) -> Option<&Near> {
        match self.quick(rank) {
            Some(member) => Some(member),
            None => self.quick_neighbor(rank),
        }
    }

    /// A neighbor that may.
    #[inline]
    fn quick_neighbor(&self, rank: Rank) -> Option<&Near> {
        if self.quick.is_empty() { None } else { self.neighbor(rank) }
    }

    /// The ranks of the node: members, and neighbors behind them.
    pub(crate) fn all_near(&self) -> impl Iterator<Item = &Near> {
        self.members.iter().map(Deref::deref).chain(&*self.neighbors)
    }

    /// The first rank of the node from `rank` on, in the order that is the same to all ranks of the node.
    pub(crate) fn near_from(&self, rank: Rank) -> Option<&Near> {
        let member = self.members.get(self.members.partition_point(|member| member.rank < rank));
        let neighbor = self.neighbors.get(self.neighbors.partition_point(|near| near.rank < rank));
        member.map(Deref::deref).into_iter().chain(neighbor).min_by_key(|near| near.rank)
    }

    /// Whether a rank is locked as a neighbor, alone or with all, so that communication calls are legal.
    #[inline]
    pub(crate) fn is_neighbor_locked(&self, rank: Rank) -> bool {
        self.neighbor(rank).is_some_and(|near| near.gate.is_locked())
    }

    /// Whether packets may go to a rank under the lock of a neighbor.
    #[inline]
    pub(crate) fn may_send_to_neighbor(&self, rank: Rank) -> bool {
        self.neighbor(rank).is_some_and(|near| near.gate.may_send())
    }
}

impl WindowState {
    /// Whether the lock of a rank is held, by itself or with all others.
    pub(crate) fn is_granted(&self, rank: Rank) -> bool {
        self.epoch.is_granted(rank) || self.shared.may_send_to_neighbor(rank)
    }
}

/// What an unlock call has found.
enum Found {
    /// Nothing was left to wait for.
    Released(Option<Wake>),
    /// Operations are to be complete first.
    Waits(FlushSync),
    /// More than that.
    LongWay,
}

impl Window {
    /// [`Window::unlock`] of a neighbor, if no more is to be done than to wait for its operations; `None`, and nothing done,
    /// otherwise.
    pub(super) fn unlock_neighbor(&self, target: Rank) -> Option<Result<()>> {
        let is_locked = |near: &&Near| matches!(near.gate.single(), Single::Held(_));
        let near = self.shared().quick_neighbor(target).filter(is_locked)?;
        let mut found = self.engine().with(|core| self.release_calmly(core, near));
        if let Found::Waits(flush) = found {
            let mut sync = Sync(SyncStep::Flush(flush), Call::Unlock(target), None);
            if let Err(error) = self.finish("unlock", &mut sync) {
                // The lock goes back whatever has become of the operations.
                let _same = self.unlock_slowly(target);
                return Some(Err(error));
            }
            found = self.engine().with(|core| self.release_calmly(core, near));
        }
        match found {
            Found::Released(None) => self.poll_now_and_then(),
            Found::Released(wake) => self.wake(wake),
            Found::Waits(_) | Found::LongWay => return Some(self.unlock_slowly(target)),
        }
        Some(Ok(()))
    }

    /// Completes what is under way to a neighbor, if there is one.
    ///
    /// # Errors
    /// What has become of it.
    pub(super) fn flush_neighbor(&self, call: &'static str) -> Result<()> {
        if self.shared().neighbors.is_empty() {
            return Ok(());
        }
        let begun = self.engine().with(|core| {
            let State { windows, pools, .. } = &core.state;
            let (window, targets) = (windows.get(self.id())?, &pools.targets);
            let find = |rank| window.table.find(targets, rank);
            let is_busy = |near: &&Near| find(near.rank).is_some_and(|key| !targets[key].is_idle());
            let rank = self.shared().neighbors.iter().find(is_busy)?.rank;
            FlushSync::begin_calmly(&mut *core.channel, &mut core.state, self.id(), rank, Reach::Remote)
        });
        begun.map_or(Ok(()), |flush| {
            self.finish(call, &mut Sync(SyncStep::Flush(flush), Call::UnlockAll, None))
        })
    }

    /// Releases the lock if nothing is under way to the rank, or makes everything leave.
    fn release_calmly(&self, core: &mut Core, near: &Near) -> Found {
        let State { windows, pools, lost, .. } = &mut core.state;
        let window = windows.calm(self.id(), near.rank).filter(|_| lost.is_empty());
        let Some(window) = window else { return Found::LongWay };
        let target = window.table.find(&pools.targets, near.rank).map(|key| &pools.targets[key]);
        if target.is_none_or(|target| target.is_complete(&pools.ops, target.posted)) {
            return match self.shared().unlock(near) {
                Some(wake) => Found::Released(wake),
                None => Found::LongWay,
            };
        }
        let (channel, state) = (&mut *core.channel, &mut core.state);
        FlushSync::begin_calmly(channel, state, self.id(), near.rank, Reach::Remote)
            .map_or(Found::LongWay, Found::Waits)
    }
}
