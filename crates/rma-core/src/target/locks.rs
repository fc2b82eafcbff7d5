//! The target's part of passive synchronization: lock requests that arrive as packets, in line with the direct ones.
//!
//! One lock word and one line per window and target serve both kinds of origin; they live in the control block. The engine
//! stands in that line for each packet origin, with a ticket of its own. Requests cannot be refused: an origin has at most one
//! waiting request here, and a waiter is one small entry made on demand. Only the operation that came along can be refused,
//! when too many bytes wait already (lessons, decisions 1 and 2).

use super::{apply, recovery};
use crate::bugs::{Bug, has};
use crate::channel::Delivery;
use crate::control::{Attempt, Holder, LockKind, LockRequest, Ticket, Wake};
use crate::ids::Peer;
use crate::state::{Replies, Reply, ReplyBody, Shared, State, Waiter, WindowState, list_unfinished};
use crate::stats::Counters;
use crate::wire::{Request, RequestFlags, RequestKind, Response, ResponseFlags, ResponseKind};
use std::sync::Arc;

/// Handles a request that asks for a lock, with or without an operation.
pub(crate) fn request(
    state: &mut State,
    window: &mut WindowState,
    from: Peer,
    request: &Request,
    packet: &[u8],
) -> Delivery {
    if window.target.line.has(from) {
        return Delivery::Refused("second lock request while the first one waits");
    }
    if window.target.shared_holders.contains_key(&from) || window.target.holds_exclusive(&window.shared, from)
    {
        return Delivery::Refused("lock request by a process that holds the lock");
    }
    let Some(holder) = Holder::new(from) else {
        return Delivery::Refused("lock request of a process past the last");
    };
    let asked = lock_request(request.flags);
    let control = &window.shared.own().control;
    let attempt = control.attempt(asked, holder);
    if attempt.is_granted() {
        window.target.count_grant(asked.kind());
        let served = Served { was_queued: false, is_bequeathed: attempt == Attempt::Bequeathed };
        return granted(&mut state.replies, window, from, asked.kind(), packet, served);
    }
    window.counters.on_locks_waited(1);
    // The lock will be the origin's, but it is this process that must be woken when its turn comes.
    let mut ticket = control.join_for(asked, holder, window.shared.holder);
    ticket.set_came(|| state.host.now());
    let kind = asked.kind();
    let keeps = request.kind != RequestKind::Sync;
    let fits = window.target.line.bytes() + packet.len() as u64 <= state.config.lock_queue_bytes;
    if keeps && !fits {
        window.counters.on_lock_data_refused(1);
        let response = Response {
            window: request.window,
            flags: ResponseFlags::REFUSED,
            sequence: request.sequence,
            kind: ResponseKind::Ack,
        };
        state.replies.push(from, Reply::Packet(response, ReplyBody::None));
    }
    // A bare lock request is made again from its number; only its unlock flag would be lost, and an unlock never rides on
    // a lock request without an operation.
    let packet = (keeps && fits).then(|| Box::<[u8]>::from(packet));
    let waiter = Waiter {
        from,
        ticket: Some(ticket),
        kind,
        window: request.window,
        sequence: request.sequence,
        packet,
        is_lost: false,
        is_void: false,
    };
    window.target.line.join(waiter, asked == LockRequest::SharedHolding);
    Delivery::Accepted
}

/// Grants the lock to packet origins whose turn has come; answers whether any was served.
pub(crate) fn advance(state: &mut State, window: &mut WindowState) -> bool {
    if window.target.line.is_empty() {
        return false;
    }
    let State { replies, wake_ups, counters, host, .. } = state;
    let shared = Arc::clone(&window.shared);
    let control = &shared.own().control;
    let turn = |ticket: Ticket| match ticket.is_beside() {
        true => control.try_pass(ticket, host.now()),
        false => control.try_turn(ticket),
    };
    let mut any = false;
    // Off the line first, then carried out (lessons, fixed 17).
    while let Some((waiter, grant)) = window.target.line.take_next(turn) {
        wake(wake_ups, counters, &shared, grant.wake);
        any = true;
        if waiter.is_void {
            continue;
        }
        window.target.count_grant(waiter.kind);
        if waiter.is_lost {
            if grant.is_bequeathed {
                control.bequeath();
            }
            release(wake_ups, counters, window, waiter.from, waiter.kind);
        } else {
            serve(replies, window, waiter, grant.is_bequeathed);
        }
    }
    if any {
        window.target.trim();
    }
    any
}

/// Releases a lock that a packet origin held.
pub(crate) fn release(
    wake_ups: &mut Vec<Peer>,
    counters: &mut Counters,
    window: &mut WindowState,
    from: Peer,
    kind: LockKind,
) {
    if kind == LockKind::Exclusive {
        window.target.releasing = None;
    }
    let Some(holder) = Holder::new(from) else { return };
    if let Ok(next) = window.shared.own().control.release(kind, holder) {
        if kind == LockKind::Shared {
            window.target.sharers = window.target.sharers.saturating_sub(1);
        }
        wake(wake_ups, counters, &window.shared, next);
    }
}

/// Takes a lost peer out of the line, and releases what it held by packets, or begins to recount.
pub(crate) fn forget_peer(
    wake_ups: &mut Vec<Peer>,
    counters: &mut Counters,
    window: &mut WindowState,
    peer: Peer,
) {
    window.target.line.lose(peer);
    // Before its locks pass on.
    list_unfinished(window, peer);
    if let Some(dead) = Holder::new(peer) {
        for mapped in window.shared.mapped.iter() {
            mapped.control.clear_dead_accumulates(dead);
            if window.shared.group.peer(mapped.rank) == peer {
                mapped.control.clear_dead_announcements();
            }
        }
    }
    // A process of the node takes locks by itself: it is recounted. Those of hostile packets go back here.
    let is_of_node = recovery::begin(window, peer);
    while !is_of_node || window.target.shared_holders.contains_key(&peer) {
        let Ok(kind) = window.target.begin_release(&window.shared, peer) else { break };
        // Said before the lock can be had.
        window.shared.own().control.bequeath();
        release(wake_ups, counters, window, peer, kind);
        if kind == LockKind::Exclusive {
            break;
        }
    }
}

/// Makes the process look again whose turn it may be.
pub(crate) fn wake(wake_ups: &mut Vec<Peer>, counters: &mut Counters, shared: &Shared, wake: Option<Wake>) {
    let mut wake_peer = |peer: Peer| wake_peer(wake_ups, counters, shared, peer);
    match wake {
        None => {}
        Some(Wake::Peer(peer)) => wake_peer(peer),
        Some(Wake::Everyone) => {
            shared.node_ranks().for_each(|node_rank| wake_peer(shared.group.peer(node_rank.rank)))
        }
    }
}

/// Makes a process look again at what it waits for in shared memory.
pub(crate) fn wake_peer(wake_ups: &mut Vec<Peer>, counters: &mut Counters, shared: &Shared, peer: Peer) {
    if peer != shared.holder.peer() && !wake_ups.contains(&peer) {
        counters.on_wake_ups_sent(1);
        wake_ups.push(peer);
    }
}

/// How a packet origin has come to its lock.
#[derive(Clone, Copy)]
struct Served {
    was_queued: bool,
    /// A process had died with the lock, and this origin is the first to have it since.
    is_bequeathed: bool,
}

fn serve(replies: &mut Replies, window: &mut WindowState, waiter: Waiter, is_bequeathed: bool) {
    let bare = Request {
        window: waiter.window,
        flags: match waiter.kind {
            LockKind::Shared => RequestFlags::LOCK_SHARED,
            LockKind::Exclusive => RequestFlags::LOCK_EXCLUSIVE,
        },
        sequence: waiter.sequence,
        kind: RequestKind::Sync,
    };
    let packet = waiter.packet.unwrap_or_else(|| bare.emit().to_vec().into());
    // The packet was accepted when it came; it cannot be refused now.
    let served = Served { was_queued: true, is_bequeathed };
    let delivery = granted(replies, window, waiter.from, waiter.kind, &packet, served);
    debug_assert_eq!(delivery, Delivery::Accepted);
}

/// Carries out a lock packet whose lock has just been acquired.
fn granted(
    replies: &mut Replies,
    window: &mut WindowState,
    from: Peer,
    kind: LockKind,
    packet: &[u8],
    served: Served,
) -> Delivery {
    if kind == LockKind::Shared {
        *window.target.shared_holders.entry(from).or_insert(0) += 1;
    }
    match Request::parse(packet) {
        Ok((request, data)) => {
            if has(Bug::QueuedTwice) && served.was_queued && request.flags.has(RequestFlags::UNLOCK) {
                let _ = apply::touch(&mut replies.buffers, window, &request, data);
            }
            let flags = match served.is_bequeathed {
                false => ResponseFlags::GRANT,
                true => ResponseFlags::GRANT.with(ResponseFlags::BEQUEATHED),
            };
            apply::apply(replies, window, from, &request, data, flags)
        }
        Err(reason) => Delivery::Refused(reason),
    }
}

fn lock_request(flags: RequestFlags) -> LockRequest {
    if flags.has(RequestFlags::LOCK_EXCLUSIVE) {
        LockRequest::Exclusive
    } else if flags.has(RequestFlags::HOLDS) {
        LockRequest::SharedHolding
    } else {
        LockRequest::Shared
    }
}
