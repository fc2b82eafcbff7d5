//! Which counters the ranks of a window have, as far as this process has to know.

use super::CounterBlock;
use super::block::CounterPlace;
use crate::control::{ControlBlock, ControlShape};
use crate::error::{Error, Result};
use crate::host::SegmentSet;
use crate::ids::Rank;
use parking_lot::RwLock;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The control memory of a rank of the node, this one included.
#[derive(Debug)]
struct CounterMemory {
    rank: Rank,
    control: ControlBlock,
    place: CounterPlace,
}

/// The counters of a window. Made with the window, and as long-lived as the memory that it names.
#[derive(Debug)]
pub(crate) struct Notification {
    /// Ascending by rank.
    node: Box<[CounterMemory]>,
    own: usize,
    /// Counters in use at ranks of other nodes.
    others: RwLock<Others>,
    /// Whether the ranks whose death a wait has to hear of have been contacted.
    has_met: AtomicBool,
    /// Why what is waited for may never come.
    end: OnceLock<Error>,
}

/// Counters in use at ranks whose control memory is not mapped here.
#[derive(Debug)]
enum Others {
    /// The same number at all ranks.
    Alike(u32),
    /// By rank; only a window whose ranks differ has such a list.
    Apart(Box<[u32]>),
}

impl Notification {
    /// For the ranks of the node, whose number it is, of a window whose maker asks for room for so many counters here. Publishes
    /// where the own ones are. `None` when the host's control memory is too short.
    pub(crate) fn new(
        me: Rank,
        segment: &SegmentSet,
        shape: ControlShape,
        ranks: usize,
        asked: u32,
    ) -> Option<Self> {
        let parts = segment.parts().iter().map(|part| (part.rank, part.control));
        let controls = segment.controls().iter().map(|part| (part.rank, part.control));
        let mut node = Vec::with_capacity(segment.parts().len() + segment.controls().len());
        for (rank, memory) in parts.chain(controls) {
            let control = ControlBlock::new(memory, shape)?;
            node.push(CounterMemory { rank, control, place: CounterPlace::new(memory) });
        }
        node.sort_unstable_by_key(|of| of.rank);
        let own = node.binary_search_by_key(&me, |of| of.rank).ok()?;
        node[own].control.publish_counters(shape.control_len_with_cells(ranks) as u64, asked.into());
        node[own].block()?;
        let others = RwLock::new(Others::Alike(0));
        Some(Self { node: node.into(), own, others, has_met: AtomicBool::new(false), end: OnceLock::new() })
    }

    /// Bytes of control memory for a rank of a node with so many ranks, and so many counters.
    pub(crate) fn control_len(shape: ControlShape, ranks: usize, asked: u32) -> u64 {
        shape.control_len_with_cells(ranks) as u64 + CounterBlock::len_for(asked)
    }

    /// The counters of a rank of the node.
    #[inline]
    pub(crate) fn of(&self, rank: Rank) -> Option<CounterBlock<'_>> {
        let place = rank.0.wrapping_sub(self.node[0].rank.0) as usize;
        let of = match self.node.get(place) {
            Some(of) if of.rank == rank => of,
            _ => &self.node[self.node.binary_search_by_key(&rank, |of| of.rank).ok()?],
        };
        of.block()
    }

    /// This rank's counters; `None` when the host's memory is too short.
    #[inline]
    pub(crate) fn own(&self) -> Option<CounterBlock<'_>> {
        self.node[self.own].block()
    }

    /// How many counters are in use at a rank.
    pub(crate) fn in_use(&self, rank: Rank) -> u32 {
        if let Some(block) = self.of(rank) {
            return block.in_use();
        }
        match &*self.others.read() {
            Others::Alike(number) => *number,
            Others::Apart(numbers) => numbers.get(rank.0 as usize).copied().unwrap_or(0),
        }
    }

    /// Whether the other ranks have yet to be contacted, so that their death is noticed; once.
    pub(crate) fn begin_meeting(&self) -> bool {
        !self.has_met.load(Relaxed) && !self.has_met.swap(true, Relaxed)
    }

    /// A rank is lost, or the window was revoked or freed: waits end, and say this. The first such thing stays.
    pub(crate) fn end_waits(&self, error: Error) {
        let _ = self.end.set(error);
    }

    /// Whether waits are still of use.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check(&self, call: &'static str) -> Result<()> {
        self.end.get().map_or(Ok(()), |error| Err(error.clone().in_call(call)))
    }

    /// All ranks have so many in use.
    pub(crate) fn learn_alike(&self, number: u32) {
        *self.others.write() = Others::Alike(number);
    }

    /// The ranks have these in use.
    pub(crate) fn learn(&self, numbers: Vec<u32>) {
        *self.others.write() = Others::Apart(numbers.into());
    }
}

impl CounterMemory {
    #[inline]
    fn block(&self) -> Option<CounterBlock<'_>> {
        self.place.block(|| self.control.counters())
    }
}
