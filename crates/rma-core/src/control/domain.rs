//! The atomicity domain of one window at one target, as kernels see it: who may change which elements in which way.
//!
//! Naturally aligned words go by [`super::bulk`]; elements that have no atomic step by [`super::exclusion`]. The two never
//! meet on one element (see [`crate::kernel`]).

use super::announcer;
use super::block::ControlBlock;
use super::bulk::{CHUNK, Entry};
use super::exclusion::UnalignedGuard;
use super::state::Holder;
use crate::host::Barriers;
use crate::ids::Rank;
use crate::kernel::{Admission, Exclusion};
use crate::mem::WriteSpan;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// From so many bytes on a run is worth turning the regime for: a turn costs about as much as 500 atomic instructions.
const BULK_BYTES: usize = 4 << 10;

/// From so many bytes on plain code is faster where it is allowed.
const PLAIN_BYTES: usize = 256;

/// Small runs of this process that lock, one after the other without a bulk one, before it turns the regime back: together
/// they have cost as much as the two turns.
const SMALL_RUNS: u32 = 256;

/// What the domains of one window have in common in one process.
#[derive(Debug)]
pub struct Siblings {
    /// The control blocks of all ranks that share the window.
    blocks: Box<[ControlBlock]>,
    /// This process's own, in which it announces.
    own: ControlBlock,
    holder: Holder,
    barriers: Barriers,
    /// Small runs since the last bulk one.
    small_runs: AtomicU32,
}

/// The domain of one target.
#[derive(Clone, Copy, Debug)]
pub struct Domain<'a> {
    siblings: &'a Siblings,
    control: &'a ControlBlock,
    /// Where the target's memory begins here.
    start: usize,
    /// What announcements for this target say; never 0.
    name: u64,
}

impl Siblings {
    /// Of the ranks with these blocks, one of which is the own.
    pub fn new(blocks: Box<[ControlBlock]>, own: ControlBlock, holder: Holder, barriers: Barriers) -> Self {
        // Borrowing a word allocates, which the thread that makes the window need not do in its first accumulate.
        announcer::own_word();
        Self { blocks, own, holder, barriers, small_runs: AtomicU32::new(0) }
    }

    /// The domain of a rank's memory, of which the first byte is that of `memory`; empty memory begins at address 0.
    #[inline]
    pub fn domain<'a>(&'a self, control: &'a ControlBlock, rank: Rank, memory: WriteSpan) -> Domain<'a> {
        let start = memory.as_mut_ptr().addr();
        Domain { siblings: self, control, start, name: u64::from(rank.0) + 1 }
    }
}

impl<'a> Domain<'a> {
    /// Announces a step; `None` when it has to lock.
    #[inline]
    fn announce(&self) -> Option<Entry<'a>> {
        let word = announcer::own_word()?;
        let bulk = self.control.bulk(self.siblings.holder);
        bulk.announce(&self.siblings.own.announcements()[word], self.name, self.siblings.barriers)
    }

    fn offset(&self, element: WriteSpan) -> usize {
        element.as_mut_ptr().addr().wrapping_sub(self.start)
    }

    #[cold]
    fn lock(&self, element: WriteSpan) -> Entry<'a> {
        let bulk = self.control.bulk(self.siblings.holder);
        if bulk.is_turned() && self.siblings.small_runs.fetch_add(1, Relaxed) + 1 >= SMALL_RUNS {
            self.siblings.small_runs.store(0, Relaxed);
            bulk.turn_to_steps();
        }
        bulk.lock(self.offset(element))
    }

    /// Turns the regime, if this process can.
    #[cold]
    fn turn_to_plain(&self) {
        let (siblings, bulk) = (self.siblings, self.control.bulk(self.siblings.holder));
        let announcements = siblings.blocks.iter().map(ControlBlock::announcements);
        bulk.turn_to_plain(self.name, siblings.barriers, announcements);
    }
}

impl Exclusion for Domain<'_> {
    type Guard<'g>
        = UnalignedGuard<'g>
    where
        Self: 'g;

    type Entry<'g>
        = Entry<'g>
    where
        Self: 'g;

    fn exclude(&self) -> UnalignedGuard<'_> {
        self.control.unaligned(self.siblings.holder).exclude()
    }

    #[inline]
    fn enter(&self, element: WriteSpan) -> Entry<'_> {
        self.announce().unwrap_or_else(|| self.lock(element))
    }

    fn enter_run(&self, first: WriteSpan, bytes: usize) -> Admission<Entry<'_>> {
        let is_bulk = bytes >= BULK_BYTES && !matches!(self.siblings.barriers, Barriers::Own);
        if !is_bulk && let Some(entry) = self.announce() {
            return Admission { entry, reach: usize::MAX, is_plain: false };
        }
        let offset = self.offset(first);
        let reach = CHUNK - offset % CHUNK;
        if !is_bulk {
            let entry = self.lock(first);
            let is_plain = bytes >= PLAIN_BYTES && self.control.bulk(self.siblings.holder).is_plain();
            return Admission { entry, reach, is_plain };
        }
        let bulk = self.control.bulk(self.siblings.holder);
        self.siblings.small_runs.store(0, Relaxed);
        let mut entry = bulk.lock(offset);
        if !bulk.is_plain() {
            drop(entry);
            self.turn_to_plain();
            entry = bulk.lock(offset);
        }
        // Somebody may have turned it back, or a step not have ended: then this piece is done in steps, under the lock.
        Admission { entry, reach, is_plain: bulk.is_plain() }
    }
}
