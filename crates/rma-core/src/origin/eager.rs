//! Eager issue: a small store that nothing waits before leaves with its call, where that is known to be worth it.
//!
//! Most programs that wait for each store of a few bytes put one, and flush. Such a store is held back in the
//! operation table, so that the flush rides on its packet. Where flushes have taken the last ones in a row
//! ([`Eager`](crate::state::Eager)), the next one leaves at once, with the request for its acknowledgement:
//! it is on its way while the program comes to its flush. A store that is not followed by its flush alone was
//! a packet too many, and doubles the row that the next one needs.
//!
//! A store with a request leaves at once, because its wait needs no more than that: it is complete at the origin when it has left. The
//! next flush asks for its acknowledgement. A stream of them is packed ([`super::stream`]). A store that leaves eagerly takes no
//! element of the table, for nothing is left to wait for.

use super::pack::Small;
use crate::channel::{Capabilities, Channel};
use crate::config::EngineConfig;
use crate::ids::{Peer, Rank, Sequence};
use crate::pool::PoolKey;
use crate::state::{Outbox, Permission, Pools, Sent, Shared, State, WindowState};
use crate::table::{Operation, Target};
use crate::wire::{RequestFlags, SHORT_STORE, STORE_HEAD};

/// Sends a small store ahead of its flush, or holds it back, if nothing else waits for its target. Says whether it has done either.
pub(crate) fn send_or_hold(
    channel: &mut dyn Channel,
    state: &mut State,
    window: &mut WindowState,
    shared: &Shared,
    rank: Rank,
    small: &Small,
) -> bool {
    let State { pools, config, lost, by_channel, .. } = state;
    if !lost.is_empty() || !is_held_back(config, small) {
        return false;
    }
    let permission = window.permission(rank);
    if matches!(permission, Permission::None | Permission::Promised) {
        return false;
    }
    let Some(key) = first(window, pools, shared, rank, small) else { return false };
    if !pools.ops.can_take(&window.op_share) {
        return false;
    }
    let target = &mut pools.targets[key];
    if window.eager.on_store() && !window.needs_issue && permission == Permission::Held {
        let outbox = Outbox { channel, counters: &mut window.counters, by_channel };
        if send(shared, target, outbox, small, RequestFlags::ACK) {
            window.eager.ahead = Some(rank);
            return true;
        }
    }
    target.posted += 1;
    let mut op = Operation::store(small.store, small.disp, small.data);
    op.order = target.posted;
    let Ok(op) = pools.ops.take(&mut window.op_share, op) else {
        unreachable!("the pool has said that there is an element");
    };
    target.pending.push_back(&mut pools.ops, op);
    window.counters.on_ops_queued(1);
    true
}

/// Sends a small store, if nothing waits for its target. Says whether it has: then it is complete at the origin, and the next flush asks
/// for its acknowledgement.
pub(crate) fn send_at_once(
    channel: &mut dyn Channel,
    state: &mut State,
    window: &mut WindowState,
    shared: &Shared,
    rank: Rank,
    small: &Small,
) -> bool {
    let State { pools, config, lost, by_channel, .. } = state;
    if !lost.is_empty() || small.data.len() as u64 > config.unit_bytes {
        return false;
    }
    // Only locks allow requests.
    if window.permission(rank) != Permission::Held || window.needs_issue {
        return false;
    }
    let Some(key) = first(window, pools, shared, rank, small) else { return false };
    let outbox = Outbox { channel, counters: &mut window.counters, by_channel };
    send(shared, &mut pools.targets[key], outbox, small, RequestFlags::NONE)
}

/// The element of a store's target, if nothing waits there, and the store lies within the window.
fn first(window: &WindowState, pools: &Pools, shared: &Shared, rank: Rank, small: &Small) -> Option<PoolKey> {
    if window.transfers_store(rank, small.data.len()) {
        return None;
    }
    let key = window.table.find(&pools.targets, rank)?;
    (pools.targets[key].pending.is_empty() && small.is_inside(shared, rank)).then_some(key)
}

/// Whether the settings leave a single store to wait, and in one piece.
fn is_held_back(config: &EngineConfig, small: &Small) -> bool {
    config.piggyback_threshold > 0 && config.pack_from > 1 && small.data.len() as u64 <= config.unit_bytes
}

/// Sends a store with these flags, if it is one small packet. Says whether it has.
fn send(
    shared: &Shared,
    target: &mut Target,
    mut outbox: Outbox<'_>,
    small: &Small,
    flags: RequestFlags,
) -> bool {
    if !is_in_one(&*outbox.channel, target.peer, small) {
        return false;
    }
    let sequence = Sequence(target.sent.0 + 1);
    if outbox.store(target.peer, shared.id, flags, sequence, small.as_run()) != Sent::Yes {
        return false;
    }
    target.posted += 1;
    target.next_sequence();
    target.on_left(sequence, target.posted, true, flags);
    outbox.counters.on_ops_queued(1);
    outbox.counters.on_ops_issued(1);
    true
}

/// Whether a store leaves in one small packet.
fn is_in_one(channel: &dyn Channel, peer: Peer, small: &Small) -> bool {
    let len = small.data.len();
    let carries = |limits: Capabilities| len <= limits.bulk_from && STORE_HEAD + len <= limits.max_packet;
    len <= SHORT_STORE || carries(channel.capabilities_for(peer))
}
