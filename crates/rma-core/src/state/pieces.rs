//! Operations that arrive in pieces, and what becomes of them, and of those on mapped memory, when their origin dies in between.
//!
//! A packet is carried out whole or not at all, but for a body that goes straight into the window; the pieces
//! of a long operation are carried out as they come. A piece says whether more follow, so the target knows
//! the unfinished operation of an origin: at most one for each window, because operations on one target are
//! sent in their order.
//!
//! When its origin dies, it goes on the list that the next holder of the lock asks for
//! ([`crate::control::UnfinishedReport`]), with what the dead was changing directly, as its notes say.

use super::{Shared, WindowState};
use crate::control::{OperationKind, Unfinished};
use crate::ids::{Peer, Rank};
use crate::wire::{Area, Request, RequestFlags, RequestKind};

/// The operations of one window, as a target, of which more is to come.
#[derive(Debug, Default)]
pub(crate) struct OpenOperations {
    open: Vec<(Peer, Unfinished)>,
}

impl OpenOperations {
    /// A request with so many bytes of data has been seen to, and has changed memory unless it reaches outside of it.
    #[inline]
    pub(crate) fn on_request(
        &mut self,
        shared: &Shared,
        from: Peer,
        request: &Request,
        len: u64,
        is_inside: bool,
    ) {
        if request.flags.has(RequestFlags::MORE) {
            if is_inside {
                self.on_piece(shared, from, request, len);
            }
        } else if !self.open.is_empty() && request.kind.place().is_some() {
            self.take(from);
        }
    }

    /// A part of an operation that is not over has changed memory, or may have.
    #[cold]
    pub(crate) fn on_piece(&mut self, shared: &Shared, from: Peer, request: &Request, len: u64) {
        let Some(piece) = change_of(shared, from, request, len) else { return };
        match self.open.iter_mut().find(|(origin, _)| *origin == from) {
            Some((_, whole)) => *whole = whole.and(piece),
            None => self.open.push((from, piece)),
        }
    }

    fn take(&mut self, from: Peer) -> Option<Unfinished> {
        let at = self.open.iter().position(|(origin, _)| *origin == from)?;
        Some(self.open.swap_remove(at).1)
    }
}

/// What a request changes, if it is of a kind that can be in pieces and changes anything.
fn change_of(shared: &Shared, from: Peer, request: &Request, len: u64) -> Option<Unfinished> {
    let (kind, place, len) = match &request.kind {
        RequestKind::Put(place) => (OperationKind::Put, place, len),
        RequestKind::Accumulate { place, .. } => (OperationKind::Accumulate, place, len),
        RequestKind::GetAccumulate { place, kernel, len, .. } if kernel.reads_operand() => {
            (OperationKind::Accumulate, place, *len)
        }
        _ => return None,
    };
    let (start, len) = match &place.area {
        Area::Run { offset } => {
            (place.disp.0.wrapping_mul(shared.own().scale.unit()).wrapping_add(*offset), len)
        }
        Area::Shape { layout, .. } => shared.own().extent(place.disp, layout),
    };
    Some(Unfinished { origin: shared.group.rank(from).unwrap_or(Rank::NULL), kind, start, len })
}

/// Lists what a process that is lost has left half done on this rank's memory.
pub(crate) fn list_unfinished(window: &mut WindowState, lost: Peer) {
    let shared = &window.shared;
    let list = shared.own().control.unfinished();
    window.target.pieces.take(lost).into_iter().for_each(|operation| list.add(operation));
    let Some(dead) = shared.group.rank(lost) else { return };
    if let Some(node_rank) = shared.node_rank(dead) {
        node_rank.control.take_notes(dead, shared.group.me()).for_each(|operation| list.add(operation));
    }
}
