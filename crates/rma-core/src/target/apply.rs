//! Applying a request: bounds, memory, answer.
//!
//! Acknowledgements are queued after the effect (lessons, fixed 46), a release after every answer that was queued before it
//! (fixed 3, 4, 20).

use super::replies::{Replies, Reply, ReplyBody};
use crate::channel::Delivery;
use crate::ids::Peer;
use crate::mem::WriteSpan;
use crate::progress::State;
use crate::window::{OutOfRange, WindowState};
use crate::wire::{Request, RequestFlags, RequestKind, Response, ResponseFlags, ResponseKind};
use smallvec::SmallVec;
use std::sync::Arc;

/// Handles a small request and the data behind its head; `packet` is both as they came, to be kept when it has to wait.
pub(crate) fn handle(
    state: &mut State,
    window: &mut WindowState,
    from: Peer,
    request: &Request,
    data: &[u8],
    packet: &[u8],
) -> Delivery {
    if let Err(reason) = check_data(request, data.len() as u64) {
        return Delivery::Refused(reason);
    }
    state.counters.on_bytes_received(data.len() as u64);
    if request.flags.locks() {
        return super::locks::request(state, window, from, request, packet);
    }
    apply(&mut state.replies, window, from, request, data, ResponseFlags::NONE)
}

/// Carries out a request whose lock, if it asked for one, is held.
pub(crate) fn apply(
    replies: &mut Replies,
    window: &mut WindowState,
    from: Peer,
    request: &Request,
    data: &[u8],
    flags: ResponseFlags,
) -> Delivery {
    let outcome = match request.kind {
        RequestKind::Sync | RequestKind::Nudge => Ok(None),
        _ => touch(window, request, data),
    };
    answer(replies, window, from, request, flags, outcome)
}

/// Queues what a carried-out request is owed: data, an error or an acknowledgement, then the release.
pub(crate) fn answer(
    replies: &mut Replies,
    window: &mut WindowState,
    from: Peer,
    request: &Request,
    flags: ResponseFlags,
    outcome: Result<Option<ReplyBody>, OutOfRange>,
) -> Delivery {
    let to = request.kind.reply_to();
    let response = |kind| Response { window: request.window, flags, sequence: request.sequence, kind };
    match (outcome, to) {
        (Ok(Some(body)), Some(to)) => {
            replies.push(from, Reply::Packet(response(ResponseKind::Data { to }), body));
        }
        (Err(OutOfRange { start, len, size }), to) => {
            let kind = ResponseKind::Error { to, start, len, size };
            replies.push(from, Reply::Packet(response(kind), ReplyBody::None));
        }
        (Ok(_), _) => {
            if request.flags.has(RequestFlags::ACK) || request.flags.locks() {
                replies.push(from, Reply::Packet(response(ResponseKind::Ack), ReplyBody::None));
            }
        }
    }
    if request.flags.has(RequestFlags::UNLOCK) {
        match window.target.begin_release(&window.shared, from) {
            Ok(kind) => replies.push(from, Reply::Release(request.window, kind)),
            Err(reason) => return Delivery::Refused(reason),
        }
    }
    Delivery::Accepted
}

/// Where a request's bytes are in window memory.
pub(crate) fn locate(window: &WindowState, request: &Request, len: u64) -> Result<WriteSpan, OutOfRange> {
    match request.kind {
        RequestKind::Put(place)
        | RequestKind::Get { place, .. }
        | RequestKind::Accumulate { place, .. }
        | RequestKind::FetchOp { place, .. }
        | RequestKind::CompareSwap { place, .. } => {
            window.shared.own().locate_behind(place.disp, place.offset, len)
        }
        RequestKind::Sync | RequestKind::Nudge => Ok(WriteSpan::EMPTY),
    }
}

/// Whether data of this length can belong to the request.
pub(crate) fn check_data(request: &Request, len: u64) -> Result<(), &'static str> {
    let fits = match request.kind {
        RequestKind::Sync | RequestKind::Get { .. } | RequestKind::Nudge => len == 0,
        RequestKind::Put(_) => len > 0,
        RequestKind::Accumulate { kernel, .. } => len > 0 && len.is_multiple_of(kernel.ty().size() as u64),
        RequestKind::FetchOp { kernel, .. } => len == kernel.ty().size() as u64,
        RequestKind::CompareSwap { kernel, .. } => len == 2 * kernel.ty().size() as u64,
    };
    if fits { Ok(()) } else { Err("data of a length that the request cannot have") }
}

fn touch(window: &WindowState, request: &Request, data: &[u8]) -> Result<Option<ReplyBody>, OutOfRange> {
    let exclusion = &window.shared.own().control.unaligned(window.shared.holder);
    match request.kind {
        RequestKind::Put(_) => {
            locate(window, request, data.len() as u64)?.write(data);
            Ok(None)
        }
        RequestKind::Get { len, .. } => {
            let span = locate(window, request, len)?;
            Ok(Some(ReplyBody::Memory(span.as_read(), Arc::clone(&window.shared))))
        }
        RequestKind::Accumulate { kernel, .. } => {
            kernel.accumulate(locate(window, request, data.len() as u64)?, data, exclusion);
            Ok(None)
        }
        RequestKind::FetchOp { kernel, .. } => {
            let span = locate(window, request, data.len() as u64)?;
            let mut old: SmallVec<[u8; 16]> = SmallVec::from_elem(0, data.len());
            kernel.fetch_accumulate(span, data, &mut old[..], exclusion);
            Ok(Some(ReplyBody::Bytes(old)))
        }
        RequestKind::CompareSwap { kernel, .. } => {
            let (compare, origin) = data.split_at(kernel.ty().size());
            let span = locate(window, request, compare.len() as u64)?;
            let mut old: SmallVec<[u8; 16]> = SmallVec::from_elem(0, compare.len());
            kernel.apply(span, compare, origin, &mut old[..], exclusion);
            Ok(Some(ReplyBody::Bytes(old)))
        }
        RequestKind::Sync | RequestKind::Nudge => Ok(None),
    }
}
