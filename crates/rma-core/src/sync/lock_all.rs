//! Lock_all and unlock_all (MPI 3.1 §11.5.3; design note, "Algorithm for LOCK_ALL-UNLOCK_ALL").
//!
//! Targets on the node, the own rank among them, are locked inside the call, in ascending order of ranks, each by an ordinary
//! shared request that stands in line. All lock_all calls of a node take these locks in the same order, so those that wait in
//! line for one another cannot wait in a circle, and no writer is passed. For the other targets there are two protocols:
//!
//! * **Per target** (`LockAllCalled`): the lock of a target is asked for with the first operation on it. Each such lock is a
//!   fact of the epoch and has a target element, which is kept.
//! * **Window** (`LockAllIssued`, then `LockAllGranted`): begins when an operation needs a target element and
//!   none is to be had. Every packet target that has not been asked is asked for its lock, a bounded number
//!   at a time, without elements; those that have not answered are kept by rank (lessons, still there 7).
//!   Operations on targets without an element wait until all locks are held. Then the facts are one word, and
//!   elements that owe nothing can be reclaimed.
//!
//! The locks of packet targets have no order among themselves, nor beside the locks of other windows: a lock call sees to the
//! single locks that its caller called for earlier, and so does lock_all, but nothing asks for all locks of a lock_all epoch
//! because a lock of another window is called for, which would cost two packets for each rank.
//!
//! With no-check the second protocol's end is the beginning. Locks of packet targets after the first one are asked for with
//! "holds", so that they pass the line (lessons, decision 2): origins reach them in any order.

use super::LivenessCheck;
use super::expose::watch;
use super::lock::{ask_here, lost_node_rank};
use crate::bugs::{Bug, has};
use crate::channel::Failure;
use crate::control::{LockKind, LockRequest, Ticket};
use crate::epoch::{AccessEvent, Caller, Epoch, LockStage, Stage};
use crate::error::{Error, Result};
use crate::ids::{Peer, Rank};
use crate::origin::post::{free_idle_far_targets, free_target};
use crate::state::{AccessRound, NodeRank, Shared, State, WindowState};
use crate::table::ClosingWord;
use crate::target::locks;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{Ordering::SeqCst, fence};

#[derive(Debug)]
pub(crate) struct LockAllSync {
    caller: Caller,
    /// The locks that the caller called for earlier on other windows are held.
    pub(super) are_others_held: bool,
    phase: LockAllPhase,
    /// The rank with which contact has been made, so that it notices this rank's death in its line.
    watched: Option<Rank>,
    liveness: LivenessCheck,
}

#[derive(Debug)]
enum LockAllPhase {
    /// Waiting for the single locks that the caller called for earlier, on other windows.
    Earlier,
    /// The lock of the first rank of the node from this one on is the next to take.
    Next(Rank),
    /// Waiting in line for its lock.
    InLine(Rank, Ticket),
    Held,
}

impl LockAllSync {
    /// Begins a lock_all call whose legality has been checked.
    pub(crate) fn begin(state: &mut State, window: &mut WindowState, no_check: bool, caller: Caller) -> Self {
        window.shared.fence_gate.set_open(false);
        // A fence epoch may have left elements; from here on an element of a rank elsewhere means a lock.
        free_idle_far_targets(state, window);
        window.on(if no_check { AccessEvent::LockAllUnchecked } else { AccessEvent::LockAll });
        if no_check {
            open(window);
            return Self {
                caller,
                are_others_held: true,
                phase: LockAllPhase::Held,
                watched: None,
                liveness: LivenessCheck::default(),
            };
        }
        window.on(AccessEvent::Reach(Stage::Opening));
        Self {
            caller,
            are_others_held: false,
            phase: LockAllPhase::Earlier,
            watched: None,
            liveness: LivenessCheck::default(),
        }
    }

    /// The caller, if it waits for locks that it called for earlier.
    pub(super) fn waits_for_earlier(&self) -> Option<Caller> {
        matches!(self.phase, LockAllPhase::Earlier).then_some(self.caller)
    }

    /// The rank in whose line the call stands.
    pub(super) fn in_line(&self) -> Option<Rank> {
        match self.phase {
            LockAllPhase::InLine(rank, _) => Some(rank),
            LockAllPhase::Earlier | LockAllPhase::Next(_) | LockAllPhase::Held => None,
        }
    }

    /// Answers whether the locks of all ranks of the node are held.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED` when a rank of the node is dead; then none is held.
    pub(crate) fn poll(&mut self, state: &mut State, window: &mut WindowState) -> Result<bool> {
        let shared = Arc::clone(&window.shared);
        let mut dead = None;
        if !state.lost.is_empty() && !matches!(self.phase, LockAllPhase::Held) {
            dead = shared.node_ranks().find_map(|node_rank| lost_node_rank(state, window, node_rank.rank));
        }
        if let Some(error) = dead {
            self.give_up(state, window);
            state.needs_step = true;
            return Err(error);
        }
        loop {
            self.phase = match std::mem::replace(&mut self.phase, LockAllPhase::Held) {
                LockAllPhase::Held => return Ok(true),
                LockAllPhase::Earlier if ask_here(state, window, self.caller) && self.are_others_held => {
                    LockAllPhase::Next(Rank(0))
                }
                LockAllPhase::Earlier => {
                    self.phase = LockAllPhase::Earlier;
                    return Ok(false);
                }
                LockAllPhase::Next(from) => match shared.node_rank_from(from) {
                    None => {
                        open(window);
                        LockAllPhase::Held
                    }
                    // A call that was given up stands in this line for the process.
                    Some(node_rank) if window.dropped.has_place(node_rank.rank) => {
                        self.phase = LockAllPhase::Next(node_rank.rank);
                        return Ok(false);
                    }
                    Some(node_rank) => {
                        if node_rank.try_acquire(LockRequest::Shared, shared.holder) {
                            LockAllPhase::Next(Rank(node_rank.rank.0 + 1))
                        } else {
                            window.counters.on_locks_waited(1);
                            LockAllPhase::InLine(
                                node_rank.rank,
                                node_rank.join(LockRequest::Shared, shared.holder),
                            )
                        }
                    }
                },
                LockAllPhase::InLine(rank, ticket) => {
                    let node_rank = shared.node_rank(rank).expect("a ticket of a rank of the node");
                    match node_rank.try_turn(ticket) {
                        Err(ticket) => {
                            self.phase = LockAllPhase::InLine(rank, ticket);
                            if !state.is_spinning {
                                self.liveness.look(state, &shared, rank);
                                if self.watched.replace(rank) != Some(rank) {
                                    watch(state, window, Some(rank).into_iter());
                                }
                            }
                            return Ok(false);
                        }
                        Ok(grant) => {
                            locks::wake(&mut state.wake_ups, &mut state.counters, &shared, grant.wake);
                            LockAllPhase::Next(Rank(rank.0 + 1))
                        }
                    }
                }
            };
        }
    }
}

impl LockAllSync {
    /// Undoes a call that is not over: gives back the locks that it has, and leaves its place in line to the engine.
    pub(crate) fn give_up(&mut self, state: &mut State, window: &mut WindowState) {
        let shared = Arc::clone(&window.shared);
        let (next, ticket) = match std::mem::replace(&mut self.phase, LockAllPhase::Held) {
            LockAllPhase::Earlier | LockAllPhase::Held => (Rank(0), None),
            LockAllPhase::Next(rank) => (rank, None),
            LockAllPhase::InLine(rank, ticket) => (rank, Some(ticket)),
        };
        release(state, &shared, shared.node_ranks().filter(|node_rank| node_rank.rank < next));
        if let Some(ticket) = ticket {
            window.dropped.keep_place(next, ticket);
        }
        window.on(AccessEvent::UnlockAll);
    }
}

/// Opens the direct path to all mapped targets, and lets packets out to the node targets.
fn open(window: &mut WindowState) {
    window.on(AccessEvent::Reach(Stage::Open));
    // SYNC POINT L2
    fence(SeqCst);
    window
        .shared
        .node_ranks()
        .for_each(|node_rank| window.shared.access.open_locked_with_all(&node_rank.gate));
}

/// Ends the change to the window protocol when the last lock is held; answers whether it did.
pub(crate) fn settle(window: &mut WindowState, lost: &HashMap<Peer, Failure>) -> bool {
    if window.access().epoch() != Epoch::LockAllIssued
        || window.rounds.access.is_some()
        || window.epoch.asking() > 0
    {
        return false;
    }
    // A lost rank never answers; operations on it say so.
    let is_missing = |rank: Rank| !lost.contains_key(&window.shared.group.peer(rank));
    if window.epoch.ungranted().any(is_missing) && !has(Bug::LateGrants) {
        return false;
    }
    window.on(AccessEvent::AllLocked);
    window.needs_issue = true;
    true
}

#[derive(Debug)]
pub(crate) struct UnlockAllSync {
    is_closing: bool,
}

impl UnlockAllSync {
    /// Begins an unlock_all call whose legality has been checked: the locks of mapped targets are released. Those of node targets follow
    /// when the operations on them are complete.
    pub(crate) fn begin(state: &mut State, window: &mut WindowState) -> Self {
        window.on(AccessEvent::Reach(Stage::Closing));
        let shared = Arc::clone(&window.shared);
        shared.mapped.iter().for_each(|mapped| shared.access.close(&mapped.gate));
        // SYNC POINT L1
        fence(SeqCst);
        if !window.access().is_unchecked() {
            release(state, &shared, shared.mapped.iter().map(Deref::deref));
        }
        Self { is_closing: false }
    }

    /// Answers whether everything is complete at the targets and the locks are on their way back.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED` when a target was lost that the epoch depended on.
    pub(crate) fn poll(&mut self, state: &mut State, window: &mut WindowState) -> Result<bool> {
        if !self.is_closing {
            // The change to the window protocol comes to its end first: a lock that is asked for has to be released.
            if window.access().epoch() == Epoch::LockAllIssued {
                return Ok(false);
            }
            close(state, window);
            self.is_closing = true;
        }
        let keys = window.table.keys(&state.pools.targets);
        if window.rounds.access.is_some() || !keys.iter().all(|key| state.pools.targets[*key].is_idle()) {
            return Ok(false);
        }
        for key in keys {
            if window.shared.node_target(state.pools.targets[key].rank).is_none() {
                free_target(state, window, key);
            }
        }
        let shared = Arc::clone(&window.shared);
        shared.node_targets.iter().for_each(|node_rank| shared.access.close(&node_rank.gate));
        let mut lost = window.lost.take();
        if !window.access().is_unchecked() {
            // SYNC POINT L1
            fence(SeqCst);
            release(state, &shared, shared.node_targets.iter());
            lost = lost.or_else(|| lost_node_target(state, &shared));
        }
        window.on(AccessEvent::UnlockAll);
        lost.map_or(Ok(true), Err)
    }
}

/// The error of a node target's death. A rank that is known to be dead is not locked, so the death has come since the
/// lock_all call, or during that.
fn lost_node_target(state: &State, shared: &Shared) -> Option<Error> {
    let mut ranks = shared.node_targets.iter().map(|node_rank| node_rank.rank);
    ranks.find_map(|rank| state.lost_error(shared, rank, "unlock_all"))
}

fn release<'a>(state: &mut State, shared: &'a Shared, ranks: impl Iterator<Item = &'a NodeRank>) {
    for node_rank in ranks {
        if let Ok(next) = node_rank.release(LockKind::Shared, shared.holder) {
            locks::wake(&mut state.wake_ups, &mut state.counters, shared, next);
        }
    }
}

/// Makes everything leave, with the releases on the last packets, or in packets of their own.
fn close(state: &mut State, window: &mut WindowState) {
    let is_unchecked = window.access().is_unchecked();
    for key in window.table.keys(&state.pools.targets) {
        let target = &mut state.pools.targets[key];
        target.push(true);
        let is_called = window.epoch.lock(target.rank).is_some_and(|lock| lock.state == LockStage::Called);
        // A lock that was never needed is not asked for any more.
        let has_word = window.shared.node_target(target.rank).is_some();
        if !(is_unchecked || has_word || is_called && target.is_idle()) {
            target.closing = ClosingWord::Wanted;
        }
        window.needs_issue |= !target.is_idle();
    }
    if window.access().epoch() == Epoch::LockAllGranted && !is_unchecked && window.shared.has_packet_targets()
    {
        window.rounds.access = Some(AccessRound::Unlocks { next: Rank(0) });
        window.needs_issue = true;
    }
}
