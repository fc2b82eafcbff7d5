//! A stream of stores with requests: from a few that the target has not acknowledged on, they share packets.
//!
//! The first ones leave at once ([`super::eager`]), because each is waited for. But such a wait is for the
//! buffer alone, and a pack has copied what joins it: so a store that joins one is complete at the origin.
//! Many of them without a flush are a stream, which is worth more as few long packets. A pack stays until it
//! is full, something is queued behind it, or a flush or the end of the epoch pushes it, as those of stores
//! without requests do ([`super::pack`]): no program may count on the target's having seen it before.
//!
//! Called under the engine's lock, in passive epochs only.

use super::pack::{self, Small};
use crate::channel::Channel;
use crate::config::EngineConfig;
use crate::ids::Rank;
use crate::state::{MAX_HEAD, Pools, Shared, State, WindowState};
use crate::table::Target;
use std::sync::atomic::Ordering::Relaxed;

/// Part of `RMA_PACK_FROM` that may be on the way unacknowledged before the rest share packets.
const PART: u64 = 4;

/// Takes a store into the pack that waits for more of its stream, or begins one. Says whether it has: then it is complete at the origin,
/// and the next flush asks for its acknowledgement.
pub(crate) fn take(
    channel: &mut dyn Channel,
    state: &mut State,
    window: &mut WindowState,
    shared: &Shared,
    rank: Rank,
    small: &Small,
) -> bool {
    let has_pack = shared.has_pack.load(Relaxed);
    if !window.permits_calls(rank) || !state.lost.is_empty() {
        return false;
    }
    (has_pack && pack::join(&mut state.pools, window, shared, rank, small))
        || begin(channel, state, window, shared, rank, small)
}

/// Begins a pack with this store, where so many of its kind are under way.
fn begin(
    channel: &mut dyn Channel,
    state: &mut State,
    window: &mut WindowState,
    shared: &Shared,
    rank: Rank,
    small: &Small,
) -> bool {
    let State { pools: Pools { ops, targets }, config, is_pack_full, needs_step, .. } = state;
    let Some(key) = window.table.find(targets, rank) else { return false };
    let target = &targets[key];
    let (is_behind, follows) = (!target.pending.is_empty(), target.ends_in_pack(ops));
    if !(follows || is_stream(target, config)) || !ops.can_take(&window.op_share) {
        return false;
    }
    let room = channel.capabilities_for(targets[key].peer).max_packet - MAX_HEAD;
    let Some(mut op) = pack::of_one(shared, rank, small, room) else { return false };
    op.order = targets[key].posted + 1;
    let order = op.order;
    let Ok(op) = ops.take(&mut window.op_share, op) else { return false };
    targets[key].posted = order;
    targets[key].pending.push_back(ops, op);
    pack::note(window, rank, key, op);
    window.counters.on_ops_queued(1);
    if is_behind {
        window.needs_issue = true;
        *needs_step = true;
    }
    *is_pack_full |= follows;
    true
}

/// Whether so many stores are under way to the target, and the settings leave a packet to wait for its flush.
fn is_stream(target: &Target, config: &EngineConfig) -> bool {
    let unacknowledged = target.stored_to.saturating_sub(target.acked_to);
    config.piggyback_threshold > 0 && unacknowledged >= config.pack_from.div_ceil(PART)
}
