//! Lock and unlock of one target (MPI 3.1 §11.5.3; design note, "Algorithm for LOCK-UNLOCK").
//!
//! The lock of a target on the node is taken inside the call, in the word that all of the node share: that of a mapped one because
//! it also protects loads and stores, which the engine cannot see, that of a node target (`window/node_target.rs`) because it costs less than a
//! request. Here only when the fast path of `state/access` was not open. For any other target the call only makes a promise: the
//! request leaves with the first operation, or with the only one and the unlock, or never when there is none.
//!
//! **The order of locks.** A program that locks several targets in one global order never deadlocks, although
//! locks are taken late: a caller's locks are *asked for* in the order of its calls, each when all earlier
//! ones are held or given back. So a caller that waits for a lock holds only locks that it called for before,
//! and along a chain of waiting callers the order ascends. What is in the way is asked for when a request is
//! due that has to wait for it, without an operation or element if need be. So k locks, an operation each,
//! and k unlocks in the same order cost what k epochs in a row do, and no call waits for a lock that it does
//! not need. Between callers there is no order. Between windows the lock call sees to it: locks that its
//! caller has been promised on another window are held before it returns. Those of a node's ranks are taken
//! in the call, so all promised ones come before them.
//!
//! Requests of origins that hold nothing on the window are served first come, first served. A shared request whose origin
//! holds another lock of the window passes the line when it has stood beside it for a time (lessons, decision 2): two readers
//! that each hold what a waiting writer wants, and ask for what the other holds, would otherwise wait for ever.
//!
//! ```text
//!    holder before                             holder after
//!    direct stores
//!    full ordering  ┐
//!    release word   ┘ (SYNC POINT L1) ───────▶ acquire word  ┐ (SYNC POINT L2)
//!                                              full ordering ┘
//!                                              direct loads
//! ```

use super::expose::watch;
use super::{InLine, LivenessCheck};
use crate::bugs::{Bug, has};
use crate::control::{Grant, LockKind, Ticket};
use crate::epoch::{AccessEvent, Assert, Call, Caller, Epoch, LockStage};
use crate::error::{Error, Result};
use crate::ids::{Rank, WindowId};
use crate::origin::post::{ensure_target, free_target};
use crate::pool::PoolKey;
use crate::state::{AccessState, Lock, NodeRank, State, WindowState, Windows, request_of};
use crate::strategy::{Counted, Next, rest};
use crate::table::ClosingWord;
use crate::target::locks;
use std::sync::Arc;
use std::sync::atomic::{Ordering::SeqCst, fence};

/// Looks of the first in line: fewer than a change of process takes.
const TURN_LOOKS: Counted = Counted::new(0, 60, 0);

#[derive(Debug)]
pub(crate) struct LockSync {
    rank: Rank,
    caller: Caller,
    kind: LockKind,
    no_check: bool,
    /// The locks that the caller called for earlier on other windows are held.
    pub(super) are_others_held: bool,
    /// Contact with the target has been made, so that it notices this rank's death, and this rank the target's.
    is_watching: bool,
    liveness: LivenessCheck,
    phase: LockPhase,
}

#[derive(Debug)]
enum LockPhase {
    /// Waiting for the locks that the caller called for earlier.
    Earlier,
    /// Waiting in line for the lock of a target on the node.
    InLine(Ticket),
    Held,
}

#[derive(Debug)]
pub(crate) struct UnlockSync {
    rank: Rank,
    /// Nothing has to be released.
    no_check: bool,
    /// The element that carries the release, found or made by the first poll that can; of a node target, that of its operations.
    target: Option<PoolKey>,
    /// How a node target is locked, which ends in its lock word.
    node_target: Option<Option<LockKind>>,
}

impl LockSync {
    /// Begins a lock call whose legality has been checked.
    pub(crate) fn begin(rank: Rank, kind: LockKind, assert: Assert, caller: Caller) -> Self {
        let no_check = assert.has(Assert::NO_CHECK);
        Self {
            rank,
            caller,
            kind,
            no_check,
            are_others_held: false,
            is_watching: false,
            liveness: LivenessCheck::default(),
            phase: LockPhase::Earlier,
        }
    }

    /// Answers whether the call is over: the lock is held, or promised for the first operation.
    pub(crate) fn poll(&mut self, state: &mut State, window: &mut WindowState) -> Result<bool> {
        match std::mem::replace(&mut self.phase, LockPhase::Held) {
            LockPhase::Held => Ok(true),
            LockPhase::InLine(ticket) => match lost_node_rank(state, window, self.rank) {
                Some(error) => {
                    self.leave_line(window, ticket);
                    Err(error)
                }
                None => Ok(self.try_turn(state, window, ticket)),
            },
            // A call that was given up stands in line for this process, which has one place in it.
            LockPhase::Earlier if window.dropped.has_place(self.rank) => {
                self.phase = LockPhase::Earlier;
                Ok(false)
            }
            LockPhase::Earlier if !self.no_check && !self.are_earlier_held(state, window) => {
                self.phase = LockPhase::Earlier;
                Ok(false)
            }
            LockPhase::Earlier => {
                // Another thread may have locked the rank while this one waited.
                window.check(&state.pools, Call::Lock(self.rank), "lock")?;
                lost_node_rank(state, window, self.rank).map_or(Ok(()), Err)?;
                Ok(self.acquire(state, window))
            }
        }
    }

    /// The caller, if it waits for locks that it called for earlier.
    pub(super) fn waits_for_earlier(&self) -> Option<Caller> {
        (matches!(self.phase, LockPhase::Earlier) && !self.no_check).then_some(self.caller)
    }

    /// In whose line the call stands, and how it asks.
    pub(super) fn in_line(&self) -> InLine {
        let is_in_line = matches!(self.phase, LockPhase::InLine(_));
        InLine { rank: is_in_line.then_some(self.rank), kind: Some(self.kind) }
    }

    /// Whether the caller's earlier locks are held, as far as this call has to wait for them. The lock of a
    /// far rank is only promised, and its window asks for its locks in order.
    fn are_earlier_held(&self, state: &mut State, window: &mut WindowState) -> bool {
        let are_held_here =
            window.shared.node_rank(self.rank).is_none() || ask_here(state, window, self.caller);
        are_held_here && self.are_others_held
    }

    fn acquire(&mut self, state: &mut State, window: &mut WindowState) -> bool {
        let shared = Arc::clone(&window.shared);
        if window.access().epoch() != Epoch::PerTarget {
            shared.fence_gate.set_open(false);
        }
        let Some(node_rank) = shared.node_rank(self.rank) else {
            let is_lost = state.lost.contains_key(&shared.group.peer(self.rank));
            let state = if self.no_check { LockStage::Granted } else { LockStage::Called };
            let (kind, no_check, caller) = (self.kind, self.no_check, Some(self.caller));
            let lock = Lock { kind, state, caller, no_check, is_lost, ..Lock::LAZY };
            window.add_lock(self.rank, lock);
            return true;
        };
        let request = request_of(self.kind, window.holds_another(self.rank));
        let before = shared.access.enter(&node_rank.gate);
        debug_assert!(before.is_some(), "the table of legal calls refuses a second lock of {:?}", self.rank);
        before.into_iter().for_each(|before| window.epoch.follow(before, AccessEvent::Lock));
        if self.no_check || node_rank.try_acquire(request, shared.holder) {
            self.open(&shared.access, node_rank);
            return true;
        }
        window.counters.on_locks_waited(1);
        let mut ticket = node_rank.join(request, shared.holder);
        ticket.set_came(|| state.host.now());
        self.phase = LockPhase::InLine(ticket);
        window.in_line += 1;
        false
    }

    /// Undoes a call that is not over: its place in line is the engine's from then on.
    pub(crate) fn give_up(mut self, window: &mut WindowState) {
        if let LockPhase::InLine(ticket) = std::mem::replace(&mut self.phase, LockPhase::Held) {
            self.leave_line(window, ticket);
        }
    }

    fn leave_line(&self, window: &mut WindowState, ticket: Ticket) {
        if let Some(node_rank) = window.shared.node_rank(self.rank) {
            window.shared.access.leave(&node_rank.gate);
        }
        window.in_line -= 1;
        window.dropped.keep_place(self.rank, ticket);
    }

    fn try_turn(&mut self, state: &mut State, window: &mut WindowState, ticket: Ticket) -> bool {
        let shared = Arc::clone(&window.shared);
        let Some(node_rank) = shared.node_rank(self.rank) else { return true };
        match look_for_turn(node_rank, ticket, state) {
            Err(ticket) => {
                state.look_again_by(ticket.due());
                self.phase = LockPhase::InLine(ticket);
                if !state.is_spinning {
                    self.liveness.look(state, &shared, self.rank);
                    if !std::mem::replace(&mut self.is_watching, true) {
                        watch(state, window, Some(self.rank).into_iter());
                    }
                }
                return false;
            }
            Ok(grant) => locks::wake(&mut state.wake_ups, &mut state.counters, &shared, grant.wake),
        }
        window.in_line -= 1;
        state.must_notify = true;
        self.open(&shared.access, node_rank);
        true
    }

    /// Opens the direct path to a mapped rank whose lock is held, or lets packets out to a node target.
    fn open(&self, access: &AccessState, node_rank: &NodeRank) {
        // SYNC POINT L2
        fence(SeqCst);
        access.hold(&node_rank.gate, (!self.no_check).then_some(self.kind));
    }
}

/// Tries a ticket. Where ranks outnumber cores the first in line polls for a moment: a thread that runs on
/// another core has the lock, for less time than it takes to give this core away and get it back.
fn look_for_turn(node_rank: &NodeRank, ticket: Ticket, state: &State) -> Result<Grant, Ticket> {
    if ticket.is_beside() {
        return node_rank.try_pass(ticket, state.host.now());
    }
    let mut outcome = node_rank.try_turn(ticket);
    if state.config.spin_us > 0 || state.config.yields == 0 {
        return outcome;
    }
    let mut strategy = TURN_LOOKS;
    loop {
        match (outcome, strategy.observe()) {
            (Err(ticket), next @ Next::Spin) if node_rank.control.is_first(&ticket) => {
                rest(next);
                outcome = if node_rank.control.lock_state().is_free() {
                    node_rank.try_turn(ticket)
                } else {
                    Err(ticket)
                };
            }
            (outcome, _) => return outcome,
        }
    }
}

/// The error of a call for the lock of a dead rank of the node: it is never granted or given back any more.
pub(super) fn lost_node_rank(state: &State, window: &WindowState, rank: Rank) -> Option<Error> {
    let error = state.lost_error(&window.shared, rank, "lock");
    error.filter(|_| window.shared.node_rank(rank).is_some())
}

/// Asks for the promised locks of a caller on other windows than `here`; answers whether all are held.
pub(super) fn ask_elsewhere(
    windows: &mut Windows,
    state: &mut State,
    here: WindowId,
    caller: Caller,
) -> bool {
    let mut are_held = true;
    for id in windows.promising().into_iter().filter(|id| *id != here) {
        let Some(mut other) = windows.borrow(state, id) else { continue };
        let (state, other) = other.split();
        // Only what this attempt gave the engine to do keeps the caller from sleeping.
        let needed_issue = std::mem::replace(&mut other.needs_issue, false);
        are_held &= ask_here(state, other, caller);
        state.needs_step |= other.needs_issue;
        other.needs_issue |= needed_issue;
    }
    are_held
}

/// [`ask_elsewhere`] for one window.
pub(super) fn ask_here(state: &mut State, window: &mut WindowState, caller: Caller) -> bool {
    let Some(first) = window.epoch.first_promised_to(caller) else { return true };
    want(state, window, first);
    false
}

/// Has the lock of a rank elsewhere asked for without an operation, if it has not been asked for yet.
pub(super) fn want(state: &mut State, window: &mut WindowState, rank: Rank) {
    let Some(lock) = window.epoch.lock_mut(rank).filter(|lock| lock.state == LockStage::Called) else {
        return;
    };
    window.needs_issue |= !std::mem::replace(&mut lock.wanted, true);
    // The request needs an element to leave from; if none is to be had now, the next poll tries again.
    let is_new = window.table.find(&state.pools.targets, rank).is_none();
    window.needs_issue |= ensure_target(state, window, rank).is_some() && is_new;
}

impl UnlockSync {
    /// Begins an unlock call whose legality has been checked; `None` when it is over already.
    pub(crate) fn begin(state: &mut State, window: &mut WindowState, rank: Rank) -> Option<Self> {
        let shared = Arc::clone(&window.shared);
        if let Some(mapped) = shared.mapped(rank) {
            let wake = shared.unlock(mapped).flatten();
            locks::wake(&mut state.wake_ups, &mut state.counters, &shared, wake);
            return None;
        }
        if let Some(node_rank) = shared.node_target(rank) {
            let node_target = Some(shared.access.begin_release(&node_rank.gate)?);
            let target = window.table.find(&state.pools.targets, rank);
            let mut sync = Self { rank, no_check: false, target, node_target };
            if let Some(key) = target {
                state.pools.targets[key].push(true);
                window.needs_issue = true;
            }
            // Whether the target is lost is for the first poll to say.
            let is_over = sync.target.is_none() && state.lost.is_empty();
            return if is_over {
                sync.finish(state, window);
                None
            } else {
                Some(sync)
            };
        }
        let lock = window.epoch.lock_mut(rank)?;
        lock.closing = true;
        let lock = *lock;
        let target = window.table.find(&state.pools.targets, rank);
        if state.lost.contains_key(&shared.group.peer(rank)) {
            return Some(Self { rank, no_check: lock.no_check, target: None, node_target: None });
        }
        let no_check = lock.no_check && !(target.is_none() && has(Bug::UncheckedForgotten));
        if target.is_none() && (no_check || lock.state == LockStage::Called) {
            // Nothing was ever sent, or what was sent is complete and no lock was taken.
            window.remove_lock(rank);
            return None;
        }
        let mut sync = Self { rank, no_check, target: None, node_target: None };
        sync.close(state, window);
        Some(sync)
    }

    /// Whether operations on a node target are on their way, behind which its lock is given back.
    #[inline]
    pub(super) fn waits(&self, state: &State) -> bool {
        let target =
            self.target.filter(|_| self.node_target.is_some()).and_then(|key| state.pools.targets.get(key));
        target.is_some_and(|target| !target.is_complete(&state.pools.ops, target.posted))
    }

    /// Answers whether everything is complete at the target and the lock is on its way back.
    pub(crate) fn poll(&mut self, state: &mut State, window: &mut WindowState) -> Result<bool> {
        let lock = window.epoch.lock(self.rank).copied();
        if lock.is_none() && self.node_target.is_none() {
            return Ok(true);
        }
        if let Some(error) = state.lost_error(&window.shared, self.rank, "unlock") {
            self.finish(state, window);
            return Err(error);
        }
        if self.node_target.is_some() {
            let target = self.target.and_then(|key| state.pools.targets.get(key));
            let is_over = target.is_none_or(|target| target.is_complete(&state.pools.ops, target.posted));
            if is_over {
                self.finish(state, window);
            }
            return Ok(is_over);
        }
        let Some(lock) = lock else { return Ok(true) };
        if self.target.is_none() {
            self.close(state, window);
        }
        let Some(key) = self.target else { return Ok(false) };
        let Some(target) = state.pools.targets.get(key) else {
            // Reclaimed, so it owed nothing, and an unlock that had not left would have been owed.
            self.finish(state, window);
            return Ok(true);
        };
        if has(Bug::UnlockBeforeCompletion)
            && (lock.kind, target.closing) == (LockKind::Exclusive, ClosingWord::Sent)
            && target.pending.is_empty()
            && target.issued.is_empty()
            && target.asked.is_empty()
        {
            self.finish(state, window);
            return Ok(true);
        }
        let is_released = target.closing == ClosingWord::Sent || self.no_check;
        if !is_released || !target.is_complete(&state.pools.ops, target.posted) || target.owes_ack() {
            // A lock that was called for but never needed is not asked for any more.
            if lock.state == LockStage::Called && target.pending.is_empty() && target.issued.is_empty() {
                self.finish(state, window);
                return Ok(true);
            }
            return Ok(false);
        }
        self.finish(state, window);
        Ok(true)
    }

    /// Marks the target's element so that the release rides on its last packet.
    fn close(&mut self, state: &mut State, window: &mut WindowState) {
        // The element may have been reclaimed while it owed nothing; the release needs one again.
        let Some(key) = ensure_target(state, window, self.rank) else { return };
        let target = &mut state.pools.targets[key];
        let is_exclusive = window.epoch.lock(self.rank).is_some_and(|lock| lock.kind == LockKind::Exclusive);
        target.push(!(is_exclusive && has(Bug::UnlockBeforeCompletion)));
        if !self.no_check {
            target.closing = ClosingWord::Wanted;
        }
        window.needs_issue = true;
        self.target = Some(key);
    }

    /// Gives up a call on a revoked window: the lock of a node target goes back, others when the window is freed.
    pub(crate) fn give_up(&mut self, state: &mut State, window: &mut WindowState) {
        if self.node_target.is_some() {
            self.finish(state, window);
        }
    }

    fn finish(&mut self, state: &mut State, window: &mut WindowState) {
        let shared = Arc::clone(&window.shared);
        if let Some(node_rank) = shared.node_target(self.rank) {
            let wake = self.node_target.take().and_then(|held| shared.end_release(node_rank, held));
            locks::wake(&mut state.wake_ups, &mut state.counters, &shared, wake);
            return;
        }
        if let Some(key) = self.target.filter(|key| state.pools.targets.get(*key).is_some()) {
            free_target(state, window, key);
        }
        window.remove_lock(self.rank);
    }
}
