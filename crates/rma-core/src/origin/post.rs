//! Queuing an operation: from the user's call into the operation table.
//!
//! Needs a target element and an operation element. Neither is waited for here: running out is an answer, on which the
//! window stops holding operations back until elements have come back (design §5.2), and the caller tries again.
//!
//! What waits for a lock gives its elements back when another process releases it, which may wait for a lock
//! that another thread of this process holds, and cannot use without elements. So a caller of locks can
//! always have one element of each kind for them, whatever the locks of other threads wait for; of locks of
//! node targets, whose callers are not kept, for each.

use super::coalesce;
use super::decide::{Decision, New};
use super::issue::Issuer;
use crate::channel::Channel;
use crate::epoch::{AccessEvent, Epoch, LockStage};
use crate::error::{Error, ErrorClass, Result};
use crate::ids::{Rank, WindowId};
use crate::pool::PoolKey;
use crate::state::{AccessRound, Lock, Pools, Single, State, WindowState, Windows, gone};
use crate::table::{OpKind, Operation, Outline, SmallStore, Target};

/// Queues an operation whose legality has been checked: takes it, or leaves it where it is, unchanged, when no element is to
/// be had now. An operation is long, so it moves once, into its element.
#[cfg_attr(debug_assertions, inline(never))] // a station for debuggers
pub(crate) fn post(
    state: &mut State,
    window: &mut WindowState,
    channel: &mut dyn Channel,
    rank: Rank,
    waiting: &mut Option<Operation>,
    call: &'static str,
) -> Result<()> {
    check_alive(state, window, rank, call)?;
    if !reach(state, window, rank) {
        return Ok(());
    }
    let Some(target) = ensure_target(state, window, rank) else { return Ok(()) };
    let mut is_extra = false;
    if !state.pools.ops.can_take(&window.op_share) {
        // Ask before the value moves in: it must come back whole.
        window.counters.on_op_pool_exhausted(1);
        // Only what is new is worth a step: the caller asks again after each.
        window.needs_issue |= !std::mem::replace(&mut window.no_hold_back, true);
        is_extra =
            has_none(state, window, rank, |target| target.pending.is_empty() && target.issued.is_empty());
        if !is_extra {
            return Ok(());
        }
    }
    let Some(op) = waiting.as_ref() else { return Ok(()) };
    let small = SmallStore::of(op);
    let (outline, is_requested) = (Outline::of(small.as_ref()), op.is_awaited());
    let new = New { outline, is_requested, is_transfer: window.transfers(rank, op) };
    let decision = Issuer::new(channel, state, window).decide(target, new, false);
    if !enqueue(state, window, channel, PlaceInLine { target, decision, is_extra }, waiting) {
        return Err(refused(call));
    }
    // A step has nothing to do for an operation that is held back, where nothing else goes on.
    if decision != Decision::Hold || window.may_ask(rank) || !window.permits_calls(rank) {
        (window.needs_issue, state.needs_step) = (true, true);
    }
    Ok(())
}

/// Where an operation gets its place.
pub(super) struct PlaceInLine {
    pub(super) target: PoolKey,
    pub(super) decision: Decision,
    /// Its element is the one that a caller of locks can always have.
    pub(super) is_extra: bool,
}

/// Gives an operation its element, which there is, and its place in line. Says whether it has.
pub(super) fn enqueue(
    state: &mut State,
    window: &mut WindowState,
    channel: &dyn Channel,
    place: PlaceInLine,
    waiting: &mut Option<Operation>,
) -> bool {
    let PlaceInLine { target: key, decision, is_extra } = place;
    let Some(op) = waiting.as_mut() else { return true };
    let target = &mut state.pools.targets[key];
    let rank = target.rank;
    target.posted += 1;
    op.order = target.posted;
    let is_requested = op.is_awaited();
    if is_requested {
        // A call waits for this operation by itself, and no synchronization call will push it.
        target.push_to = target.posted;
    }
    if decision == Decision::Coalesce {
        coalesce::begin(state, window, channel, key, op);
    }
    let is_pack = op.kind == OpKind::Pack;
    let target = &mut state.pools.targets[key];
    state.is_pack_full |= is_pack && target.ends_in_pack(&state.pools.ops);
    let goes_last = is_requested
        || is_pack
        || target.pending.len() > state.config.piggyback_threshold
        || window.transfers(rank, op);
    let (ops, share) = (&mut state.pools.ops, &mut window.op_share);
    let Some(op) = waiting.take() else { return true };
    let taken = if is_extra { ops.take_extra(share, op) } else { ops.take(share, op) };
    let Ok(op) = taken else { return false };
    if is_pack {
        coalesce::note(window, rank, key, op);
    }
    if goes_last {
        target.pending.push_back(ops, op);
    } else {
        target.queue_before_gets(ops, op);
    }
    window.counters.on_ops_queued(1);
    true
}

#[cold]
fn refused(call: &'static str) -> Error {
    Error::new(ErrorClass::Intern, call, "the operation pool refused an element that it said it had")
}

/// Sees to the lock that an operation on `rank` needs; answers whether the operation may be queued now.
pub(crate) fn reach(state: &mut State, window: &mut WindowState, rank: Rank) -> bool {
    let is_node_target = window.shared.node_target(rank).is_some();
    let has_element = || window.table.find(&state.pools.targets, rank).is_some();
    match window.access().epoch() {
        Epoch::LockAllCalled | Epoch::LockAllIssued if window.epoch.lock(rank).is_some() => true,
        Epoch::LockAllCalled | Epoch::LockAllIssued if is_node_target && has_element() => true,
        Epoch::LockAllCalled if state.pools.targets.can_take(&window.target_share) => {
            if !is_node_target {
                window.add_lock(rank, Lock::LAZY);
            }
            true
        }
        Epoch::LockAllCalled => {
            // Freeing an element would lose nothing, since its lock is a fact; but facts are bounded by elements.
            state.counters.on_target_pool_exhausted(1);
            window.counters.on_lock_all_fallbacks(1);
            window.on(AccessEvent::ElementsShort);
            window.epoch.want_all();
            window.rounds.access = Some(AccessRound::Locks { next: Rank(0) });
            window.needs_issue = true;
            false
        }
        Epoch::LockAllIssued => false,
        Epoch::LockAllGranted
        | Epoch::PerTarget
        | Epoch::Unset
        | Epoch::FenceIssued
        | Epoch::FenceGranted
        | Epoch::PscwIssued
        | Epoch::PscwGranted => true,
    }
}

/// The element of `rank`, made if need be; `None` when none is to be had now.
pub(crate) fn ensure_target(state: &mut State, window: &mut WindowState, rank: Rank) -> Option<PoolKey> {
    if let Some(key) = window.table.find(&state.pools.targets, rank) {
        return Some(key);
    }
    let mut is_extra = false;
    if !state.pools.targets.can_take(&window.target_share) && !free_idle_target(state, window) {
        window.counters.on_target_pool_exhausted(1);
        push_all(state, window);
        is_extra = has_none(state, window, rank, |_| false);
        if !is_extra {
            return None;
        }
    }
    let (targets, share) = (&mut state.pools.targets, &mut window.target_share);
    let mut target = Target::new(rank, window.shared.group.peer(rank));
    // Asked for without an element.
    target.is_locking = window.epoch.lock(rank).is_some_and(|lock| lock.state == LockStage::Issued);
    let key = if is_extra { targets.take_extra(share, target) } else { targets.take(share, target) }.ok()?;
    window.table.insert(&mut state.pools.targets, key);
    Some(key)
}

/// Whether a caller that locks `rank` has no element for any of its locks, but for those that do not count.
fn has_none(state: &State, window: &WindowState, rank: Rank, counts_not: impl Fn(&Target) -> bool) -> bool {
    let targets = &state.pools.targets;
    let has_any = |of: Rank| window.table.find(targets, of).is_some_and(|key| !counts_not(&targets[key]));
    if let Some(node_rank) = window.shared.node_target(rank) {
        return matches!(node_rank.gate.single(), Single::Held(_)) && !has_any(rank);
    }
    let caller = window.epoch.lock(rank).and_then(|lock| lock.caller);
    caller.is_some() && !window.epoch.locks().any(|(of, lock)| lock.caller == caller && has_any(of))
}

impl State {
    /// Takes a window out of the table for good; its elements must be idle. Gives the error not yet raised.
    pub(crate) fn remove_window(&mut self, windows: &mut Windows, id: WindowId) -> Option<Error> {
        let mut window = windows.remove(id)?;
        self.withdraw(&mut window);
        window.shared.notification.end_waits(gone("window"));
        free_idle_targets(self, &mut window);
        self.counters.add(&window.all_counters());
        let ops = self.pools.ops.close_share(window.op_share);
        let targets = self.pools.targets.close_share(window.target_share);
        debug_assert!(ops.is_ok() && targets.is_ok(), "elements are in use in a window that is removed");
        window.error
    }
}

/// Gives every element that owes nothing back to the pool (end of an epoch).
pub(crate) fn free_idle_targets(state: &mut State, window: &mut WindowState) {
    while free_idle_target(state, window) {}
}

/// Gives the idle element back. Another thread may wait for it, and no step says that it is free.
pub(crate) fn free_target(state: &mut State, window: &mut WindowState, key: PoolKey) {
    take_out(&mut state.pools, window, key);
    state.must_notify = true;
}

/// [`free_target`] within a step of the engine, which notifies all threads that something moved.
pub(super) fn take_out(pools: &mut Pools, window: &mut WindowState, key: PoolKey) {
    window.table.remove(&mut pools.targets, key);
    pools.targets.give_back(&mut window.target_share, key);
}

/// [`free_idle_targets`] but for those of node targets.
pub(crate) fn free_idle_far_targets(state: &mut State, window: &mut WindowState) {
    for key in window.table.keys(&state.pools.targets) {
        let target = &state.pools.targets[key];
        if target.is_idle() && window.shared.node_target(target.rank).is_none() {
            free_target(state, window, key);
        }
    }
}

fn free_idle_target(state: &mut State, window: &mut WindowState) -> bool {
    let targets = &state.pools.targets;
    let idle = window.table.keys(targets).into_iter().find(|key| targets[*key].is_idle());
    idle.inspect(|key| free_target(state, window, *key)).is_some()
}

/// Target elements ran short: everything posted leaves and is acknowledged, so that elements become idle.
fn push_all(state: &mut State, window: &mut WindowState) {
    window.needs_issue |= !std::mem::replace(&mut window.no_hold_back, true);
    for key in window.table.keys(&state.pools.targets) {
        let target = &mut state.pools.targets[key];
        window.needs_issue |= target.push_to.min(target.ack_to) < target.posted;
        target.push(true);
    }
}

fn check_alive(state: &State, window: &WindowState, rank: Rank, call: &'static str) -> Result<()> {
    state.lost_error(&window.shared, rank, call).map_or(Ok(()), Err)
}
