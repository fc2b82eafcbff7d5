//! Bulk requests: data that lands in window memory (put) or in a staging buffer of one unit (accumulate).

use super::apply::{answer, apply, check_data, longest_piece};
use crate::channel::{Delivery, Placement};
use crate::datatype::Scatter;
use crate::ids::Peer;
use crate::state::{Incoming, OutOfRange, ReceivedBody, State, WindowState};
use crate::wire::{Request, RequestKind, ResponseFlags, TargetPlace};

/// Handles the head of a bulk request.
pub(crate) fn begin(
    state: &mut State,
    window: &mut WindowState,
    request: Request,
    len: u64,
) -> Result<(Placement, Incoming), &'static str> {
    if request.flags.locks() {
        return Err("bulk request that asks for a lock");
    }
    let longest = longest_piece(&state.config);
    check_data(&request, len, longest)?;
    window.counters.on_bytes_received(len);
    let (placement, body) = match &request.kind {
        RequestKind::Put(place) => match locate(window, place, len) {
            Ok(target) => (target, ReceivedBody::Window { _memory: window.shared.hold() }),
            Err(range) => (Scatter::discard(len), ReceivedBody::Dropped(range)),
        },
        RequestKind::Accumulate { place, .. } | RequestKind::GetAccumulate { place, .. } => {
            if len > longest {
                return Err("accumulate piece longer than a unit");
            }
            match locate(window, place, len) {
                Ok(_) => {
                    let mut buffer = state.replies.buffers.take(len as usize);
                    // SAFETY: the buffer is kept in `Incoming`, and not accessed, until the channel has
                    // reported the body as received or the peer as failed (clause C4).
                    let span = unsafe { buffer.write_span() };
                    (Scatter::span(span), ReceivedBody::Staged(buffer))
                }
                Err(range) => (Scatter::discard(len), ReceivedBody::Dropped(range)),
            }
        }
        _ => return Err("bulk body behind a request that takes none"),
    };
    window.target.receiving += 1;
    Ok((Placement::Into(placement), Incoming { request, len, body }))
}

/// The bytes at a place of the window, if its memory is there.
fn locate(window: &WindowState, place: &TargetPlace, len: u64) -> Result<Scatter, OutOfRange> {
    window.check_memory()?;
    window.shared.own().locate_place(place, len)
}

impl Incoming {
    /// The request that the body belongs to.
    pub(crate) fn request(&self) -> &Request {
        &self.request
    }
}

/// The sender is lost before the body is in place.
pub(crate) fn abandon(window: &mut WindowState, from: Peer, incoming: &Incoming) {
    window.target.receiving -= 1;
    if matches!(incoming.body, ReceivedBody::Window { .. }) {
        window.target.pieces.on_piece(&window.shared, from, &incoming.request, incoming.len);
    }
}

/// The body is in place: combine it if it was staged, and answer.
pub(crate) fn finish(
    state: &mut State,
    window: &mut WindowState,
    from: Peer,
    incoming: Incoming,
) -> Delivery {
    window.target.receiving -= 1;
    let Incoming { request, len, body } = incoming;
    match body {
        ReceivedBody::Window { .. } => {
            window.target.pieces.on_request(&window.shared, from, &request, len, true);
            answer(&mut state.replies, window, from, &request, ResponseFlags::NONE, Ok(None))
        }
        ReceivedBody::Staged(buffer) => {
            let data = buffer.bytes();
            let delivery = apply(&mut state.replies, window, from, &request, data, ResponseFlags::NONE);
            state.replies.buffers.give_back(buffer);
            delivery
        }
        ReceivedBody::Dropped(range) => {
            window.target.pieces.on_request(&window.shared, from, &request, len, false);
            answer(&mut state.replies, window, from, &request, ResponseFlags::NONE, Err(range))
        }
    }
}
