//! What a lost peer leaves behind at the origin: operations that cannot complete end in error, and give their buffers back
//! first.

use crate::channel::Failure;
use crate::error::{Error, ErrorClass};
use crate::ids::Peer;
use crate::pool::PoolKey;
use crate::progress::Pools;
use crate::table::{Closing, OpList};
use crate::window::WindowState;
use std::fmt::Display;

/// Ends everything that `window` has under way to `peer`. The channel has promised not to touch its buffers any more.
pub(crate) fn abandon(window: &mut WindowState, pools: &mut Pools, peer: Peer, failure: &Failure) {
    let Some(rank) = window.shared.group.rank(peer) else { return };
    let Some(key) = window.table.find(&pools.targets, rank) else { return };
    give_up(window, pools, key, failure);
}

/// Ends everything that `window` has queued to any target. Nothing of it may have left: an operation under way can be given
/// up only when the channel no longer touches its buffers.
pub(crate) fn abandon_unissued(window: &mut WindowState, pools: &mut Pools, cause: &dyn Display) {
    for key in window.table.keys(&pools.targets) {
        debug_assert!(
            pools.targets[key].issued.is_empty(),
            "an operation has left before its epoch was granted"
        );
        give_up(window, pools, key, cause);
    }
}

fn give_up(window: &mut WindowState, pools: &mut Pools, key: PoolKey, cause: &dyn Display) {
    let target = &mut pools.targets[key];
    let rank = target.rank;
    let mut lists = [std::mem::take(&mut target.pending), std::mem::take(&mut target.issued)];
    let had_work = target.owes_ack() || lists.iter().any(|list| !list.is_empty());
    target.acked_to = target.stored_to;
    target.asked.clear();
    target.fetching = 0;
    target.closing = Closing::No;
    for list in &mut lists {
        while let Some(op) = OpList::pop_front(list, &mut pools.ops) {
            pools.ops.put_back(&mut window.op_share, op);
        }
    }
    window.dirty = true;
    window.pressure = false;
    if had_work {
        window.note_error(Error::new(
            ErrorClass::ProcAborted,
            "flush",
            format!("operations on rank {rank} cannot complete: {cause}"),
        ));
    }
}
