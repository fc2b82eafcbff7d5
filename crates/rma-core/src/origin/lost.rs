//! What a lost peer leaves behind at the origin: its operations end in error, and give their buffers back first.
//!
//! Flush and unlock of a lost rank raise that error themselves, each of them, and calls on other ranks raise none. Only a
//! fence, which completes everything at once, needs it noted at the window; the calls that close a lock_all epoch find it in
//! a place of their own, because flushes of single ranks must not.

use super::post::take_out;
use crate::channel::Failure;
use crate::error::{Error, ErrorClass};
use crate::ids::{Peer, Rank};
use crate::pool::PoolKey;
use crate::state::{Pools, WindowState, error_of};
use crate::table::OpList;

/// Ends everything that `window` has under way to `peer`. The channel has promised not to touch its buffers any more.
pub(crate) fn abandon(window: &mut WindowState, pools: &mut Pools, peer: Peer, failure: &Failure) {
    let Some(rank) = window.shared.group.rank(peer) else { return };
    window.rounds.forget(rank);
    window.epoch.on_lost(rank);
    window.has_lost = true;
    window.shared.notification.end_waits(error_of(rank, "notification", failure));
    let state = window.access().epoch();
    let is_of_node = window.shared.may_send_to_node_target(rank);
    // Node targets whose locks were taken with all others the call that ends the epoch finds by itself: another may be opening it just now,
    // past the engine.
    let has_no_lock = is_of_node && window.access().is_unchecked();
    let is_locked = has_no_lock || window.epoch.lock(rank).is_some() || window.epoch.on_answered(rank);
    // Waiters look again whatever was lost.
    window.needs_issue = true;
    let mut had_work = false;
    if let Some(key) = window.table.find(&pools.targets, rank) {
        had_work = !pools.targets[key].is_idle();
        drop_target(window, pools, key, || error_of(rank, "request", failure));
    }
    if state.is_lock_all() && (had_work || is_locked) {
        window.lost.get_or_insert_with(|| error_of(rank, "unlock_all", failure));
    }
    if had_work && state.is_fence_or_unset() && !is_of_node {
        window.note_error(error_of(rank, "fence", failure));
    }
}

/// Ends what waits at this origin for a post of `rank`, which never comes, with this error; a call raises it.
pub(crate) fn forsake(window: &mut WindowState, pools: &mut Pools, rank: Rank, error: &Error) {
    window.rounds.forget(rank);
    window.epoch.access.on_seen_post(rank);
    window.needs_issue = true;
    if let Some(key) = window.table.find(&pools.targets, rank) {
        drop_target(window, pools, key, || error.clone());
    }
    window.note_error(error.clone());
}

/// Ends all operations that no packet was made for: the epoch that would have let them leave never opens.
pub(crate) fn abandon_unopened(window: &mut WindowState, pools: &mut Pools) {
    for key in window.table.keys(&pools.targets) {
        drop_target(window, pools, key, || {
            Error::new(ErrorClass::RmaSync, "request", "the epoch was never opened")
        });
    }
}

/// Ends all operations of a window whose calls all fail, but for targets whose buffers a channel has in hand; answers whether none is left.
pub(crate) fn abandon_all(window: &mut WindowState, pools: &mut Pools, reason: &dyn Fn() -> Error) -> bool {
    let mut are_ended = true;
    for key in window.table.keys(&pools.targets) {
        let (target, ops) = (&pools.targets[key], &pools.ops);
        let is_in_hand = |list: &OpList| list.iter(ops).any(|op| ops[op].bulks() > 0);
        if is_in_hand(&target.pending) || is_in_hand(&target.issued) {
            are_ended = false;
        } else {
            drop_target(window, pools, key, reason);
        }
    }
    are_ended
}

fn drop_target(window: &mut WindowState, pools: &mut Pools, key: PoolKey, reason: impl Fn() -> Error) {
    let target = &mut pools.targets[key];
    for mut list in [std::mem::take(&mut target.pending), std::mem::take(&mut target.issued)] {
        while let Some(op) = list.pop_front(&mut pools.ops) {
            if pools.ops[op].is_awaited() {
                pools.ops[op].signal_end(Err(reason()));
            }
            pools.ops.give_back(&mut window.op_share, op);
        }
    }
    take_out(pools, window, key);
    window.no_hold_back = false;
}
