//! A body that is being read from the peer's memory, part by part: what was asked for, and what is here.
//!
//! Parts go to slots, and are copied out in order; or at once to where they belong, where that is one piece of memory and may be.

use crate::block::SlotName;
use crate::wire::Offer;
use rma_core::channel::Lane;
use rma_core::datatype::Scatter;
use rma_core::mem::WriteSpan;
use std::collections::VecDeque;

/// Bytes that are read at a time: what a core's own cache holds, so that the copy out costs little.
pub(crate) const PART: usize = 256 << 10;
/// Parts of one body under way.
const PARTS: u32 = 2;
/// Slots of a peer: each lane has its own.
pub(crate) const READ_SLOTS: u32 = 2 * PARTS;

/// A body that is being read.
#[derive(Debug)]
pub(crate) struct Pull {
    scatter: Scatter,
    offer: Offer,
    len: u64,
    /// Bytes that reads were begun for.
    asked: u64,
    free: Vec<u32>,
    under_way: VecDeque<Part>,
    /// Whether parts go to where they belong.
    is_direct: bool,
}

/// A part to ask for.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) slot: u32,
    pub(crate) len: usize,
    pub(crate) from: Offer,
    /// Where it goes, if not to the slot.
    pub(crate) into: Option<WriteSpan>,
}

#[derive(Debug)]
struct Part {
    slot: u32,
    len: usize,
    is_here: bool,
}

impl Pull {
    /// One that has not begun. With `may_be_direct` the placement's memory may be the provider's for the time of a read.
    pub(crate) fn new(scatter: Scatter, offer: Offer, len: u64, lane: Lane, may_be_direct: bool) -> Self {
        let first = lane as u32 * PARTS;
        let free = (first..first + PARTS).collect();
        let is_direct =
            may_be_direct && scatter.peek(usize::MAX).is_some_and(|span| span.len() as u64 == len);
        Self { scatter, offer, len, asked: 0, free, under_way: VecDeque::new(), is_direct }
    }

    /// Whether a read can be begun.
    pub(crate) fn can_ask(&self) -> bool {
        self.asked < self.len && !self.free.is_empty()
    }

    /// The next part, if there is a slot for it; reads have at most so many bytes.
    pub(crate) fn next(&self, longest: usize) -> Option<Ask> {
        let slot = self.free.last().copied().filter(|_| self.can_ask())?;
        let longest = if self.is_direct { longest } else { longest.min(PART) };
        let len = (self.len - self.asked).min(longest as u64) as usize;
        let from = Offer { address: self.offer.address.wrapping_add(self.asked), ..self.offer };
        let whole = if self.is_direct { self.scatter.peek(usize::MAX) } else { None };
        let into = whole.map(|whole| whole.part(self.asked as usize, len));
        Some(Ask { slot, len, from, into })
    }

    /// That part is asked for.
    pub(crate) fn on_asked(&mut self, slot: u32, len: usize) {
        self.free.retain(|free| *free != slot);
        self.asked += len as u64;
        self.under_way.push_back(Part { slot, len, is_here: false });
    }

    /// What is in a slot is here: parts that are due are copied out by `read`. Whether the body is in place.
    pub(crate) fn on_here<'a>(&mut self, here: SlotName, read: impl Fn(SlotName, usize) -> &'a [u8]) -> bool {
        if let Some(part) = self.under_way.iter_mut().find(|part| part.slot == here.slot) {
            part.is_here = true;
        }
        while self.under_way.front().is_some_and(|part| part.is_here) {
            let Some(part) = self.under_way.pop_front() else { break };
            if !self.is_direct {
                self.scatter.write(read(SlotName { slot: part.slot, ..here }, part.len));
            }
            self.free.push(part.slot);
        }
        self.asked == self.len && self.under_way.is_empty()
    }
}

/// The lane whose slot it is.
pub(crate) fn lane_of(slot: u32) -> Lane {
    Lane::ALL[(slot / PARTS) as usize]
}
