//! A body that is being read from the peer's memory, part by part: what was asked for, and what is here.

use crate::block::SlotName;
use crate::wire::Offer;
use rma_core::channel::Lane;
use rma_core::datatype::Scatter;
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
}

#[derive(Debug)]
struct Part {
    slot: u32,
    len: usize,
    is_here: bool,
}

impl Pull {
    pub(crate) fn new(scatter: Scatter, offer: Offer, len: u64, lane: Lane) -> Self {
        let first = lane as u32 * PARTS;
        let free = (first..first + PARTS).collect();
        Self { scatter, offer, len, asked: 0, free, under_way: VecDeque::new() }
    }

    /// Whether a read can be begun.
    pub(crate) fn can_ask(&self) -> bool {
        self.asked < self.len && !self.free.is_empty()
    }

    /// The next part: a slot, the bytes that go there at most, and where they begin.
    pub(crate) fn next(&self, longest: u64) -> Option<(u32, usize, Offer)> {
        let slot = self.free.last().copied().filter(|_| self.can_ask())?;
        let len = (self.len - self.asked).min(longest) as usize;
        Some((slot, len, Offer { address: self.offer.address.wrapping_add(self.asked), ..self.offer }))
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
            self.scatter.write(read(SlotName { slot: part.slot, ..here }, part.len));
            self.free.push(part.slot);
        }
        self.asked == self.len && self.under_way.is_empty()
    }
}

/// The lane whose slot it is.
pub(crate) fn lane_of(slot: u32) -> Lane {
    Lane::ALL[(slot / PARTS) as usize]
}
