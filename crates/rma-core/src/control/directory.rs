//! The directory of the waiting line: the process to wake for each ticket, so that a release wakes only the
//! next in turn. That process is the ticket's holder, or the window's owner for an origin that does not map
//! the block.
//!
//! Of n slots (`RMA_LOCK_DIRECTORY`), slot `ticket % n` holds the ticket's low 32 bits, its kind and the
//! process to wake, written between taking the ticket and the first try. It is a hint: when more than n
//! requests wait, or the writer has not stored yet, the slot shows another ticket, the answer is "unknown",
//! and all processes are woken. A slot that shows the ticket asked for is exact: all earlier users of the slot
//! wrote it before they were granted, so it cannot be left over from 2³² tickets ago.
//!
//! ```text
//!  63                    32 31 24 23             1  0
//! +------------------------+-----+----------------+---+
//! |  ticket, low 32 bits   |  0  |    to wake     | s |   s: shared
//! +------------------------+-----+----------------+---+
//! ```

use super::shim::{AtomicU64, Ordering};
use super::state::Holder;
use crate::ids::LockKind;

const HOLDER_BITS: u64 = (1 << 31) - 1;

/// Enters the process to wake for a ticket.
pub(super) fn enter(slots: &[AtomicU64], ticket: u64, kind: LockKind, wake: Holder) {
    let entry = tag(ticket) | wake.code() << 1 | u64::from(kind == LockKind::Shared);
    // SYNC POINT line-entry: read by `find` in the process that wakes.
    if let Some(slot) = slot_of(slots, ticket) {
        slot.store(entry, Ordering::Release);
    }
}

/// The process to wake for a ticket; `None` when the directory does not know.
pub(super) fn find(slots: &[AtomicU64], ticket: u64) -> Option<(LockKind, Holder)> {
    // SYNC POINT line-entry: written by `enter` in the process that waits.
    let entry = slot_of(slots, ticket)?.load(Ordering::Acquire);
    if entry & tag(u64::MAX) != tag(ticket) {
        return None;
    }
    let kind = if entry & 1 == 1 { LockKind::Shared } else { LockKind::Exclusive };
    Some((kind, Holder::from_code(entry >> 1 & HOLDER_BITS)?))
}

fn slot_of(slots: &[AtomicU64], ticket: u64) -> Option<&AtomicU64> {
    slots.get(ticket.checked_rem(slots.len() as u64)? as usize)
}

fn tag(ticket: u64) -> u64 {
    ticket << 32
}
