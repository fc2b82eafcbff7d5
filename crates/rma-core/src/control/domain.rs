//! The atomicity domain of one window at one target, as kernels see it: which elements are changed in which
//! way.
//!
//! Naturally aligned words go by [`super::bulk`]; elements that have no atomic step by [`super::exclusion`]. The two never
//! meet on one element (see [`crate::kernel`]).

use super::announcer;
use super::block::{BlockPart, ControlBlock};
use super::bulk::{CHUNK, Entry};
use super::exclusion::UnalignedGuard;
use super::notes::{Note, NoteSlot, Notes, is_word, name_of};
use super::shim::AtomicU64;
use super::state::Holder;
use super::unfinished::OperationKind;
use crate::fork;
use crate::host::{Barriers, Vitals};
use crate::ids::Rank;
use crate::kernel::{Admission, Exclusion};
use crate::mem::{ReadSpan, WriteSpan};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// Runs of so many bytes are worth a switch of the accumulate mode: a switch costs about as much as 500 atomic instructions.
const BULK_BYTES: usize = 4 << 10;

/// From so many bytes of words of four or more on plain code under a stripe's lock is faster than steps.
const LONG_BYTES: usize = 64;

/// Bytes that are changed by plain code for what the lock costs a small run.
const BYTES_PER_SMALL_RUN: usize = 8;

/// Small runs of this process that lock before it switches the accumulate mode back, beyond those that long ones make up for: together they
/// have cost as much as the two switches.
const SMALL_RUNS: u32 = 256;

/// What a forked child may not do.
pub(super) const CALL: &str = "an accumulate or a fetch";

/// What the domains of one window have in common in one process.
#[derive(Debug)]
pub struct NodeDomain {
    /// The control blocks of all ranks that share the window.
    blocks: Box<[ControlBlock]>,
    /// Where this process announces, in its own block.
    announced: BlockPart<AtomicU64>,
    /// And where it notes.
    noted: BlockPart<NoteSlot>,
    own: ControlBlock,
    holder: Holder,
    barriers: Barriers,
    vitals: Vitals,
    /// Small runs that have locked, less those that long ones have made up for.
    small_runs: AtomicU32,
    /// Bytes of long runs that were changed in steps since the last switch.
    stepped: AtomicUsize,
}

/// One target, as domains know it.
#[derive(Debug)]
pub struct TargetDomain {
    control: ControlBlock,
    /// Where the target's memory begins here.
    start: usize,
    /// What announcements and notes for this target say; never 0.
    name: u64,
}

/// The domain of one target: two words, which calls keep in registers.
#[derive(Clone, Copy, Debug)]
pub struct Domain<'a> {
    node_domain: &'a NodeDomain,
    target_domain: &'a TargetDomain,
}

impl TargetDomain {
    /// A rank's memory, of which the first byte is that of `memory`; empty memory begins at address 0.
    pub fn new(control: ControlBlock, rank: Rank, memory: WriteSpan) -> Self {
        Self { control, start: memory.as_mut_ptr().addr(), name: name_of(rank) }
    }
}

impl NodeDomain {
    /// Of the ranks with these blocks, one of which is the own.
    pub fn new(
        blocks: Box<[ControlBlock]>,
        own: ControlBlock,
        holder: Holder,
        barriers: Barriers,
        vitals: Vitals,
    ) -> Self {
        own.introduce(holder, vitals.own);
        announcer::lend(own.shape().announcers());
        // Borrowing a word allocates, which the thread that makes the window need not do in its first accumulate.
        announcer::own_word();
        let (small_runs, stepped) = (AtomicU32::new(0), AtomicUsize::new(0));
        let (announced, noted) = (own.announced(), own.noted());
        Self { blocks, announced, noted, own, holder, barriers, vitals, small_runs, stepped }
    }

    /// Whether the process that holds words with this code has ended, as far as it can be known.
    pub(super) fn has_ended(&self, code: u64) -> bool {
        let vital = self.blocks.iter().find_map(|block| block.vital_of(code));
        vital.is_some_and(|vital| (self.vitals.has_ended)(vital))
    }

    /// Counts a long run that cannot be plain code yet; says whether it is time to switch the accumulate mode, by what
    /// steps have cost since the last switch. A guess at costs, so a count that threads lose does not matter.
    fn is_switch_due(&self, bytes: usize) -> bool {
        let stepped = self.stepped.load(Relaxed).saturating_add(bytes);
        let is_due = stepped >= BULK_BYTES;
        self.stepped.store(if is_due { 0 } else { stepped }, Relaxed);
        is_due
    }

    /// Counts a long run of plain code against the small ones that had to lock for it.
    fn make_up(&self, bytes: usize) {
        let small_runs = self.small_runs.load(Relaxed);
        if small_runs > 0 {
            let made_up = u32::try_from(bytes / BYTES_PER_SMALL_RUN).unwrap_or(u32::MAX);
            self.small_runs.store(small_runs.saturating_sub(made_up), Relaxed);
        }
    }

    /// The domain of a target.
    #[inline]
    pub fn domain<'a>(&'a self, target_domain: &'a TargetDomain) -> Domain<'a> {
        Domain { node_domain: self, target_domain }
    }
}

impl<'a> Domain<'a> {
    /// Announces a step; `None` when it has to lock, as it has to in a forked child, whose threads own no word.
    #[inline]
    fn announce(&self) -> Option<Entry<'a>> {
        let word = self.node_domain.announced.get().get(announcer::own_word()?)?;
        let bulk = self.target_domain.control.bulk(self.node_domain.holder);
        bulk.announce(word, self.target_domain.name, self.node_domain.barriers)
    }

    /// Notes that the process is changing these bytes, until what this gives is dropped; those that are one store need no note.
    #[inline]
    pub(crate) fn note(&self, kind: OperationKind, place: WriteSpan) -> Option<Note<'a>> {
        if is_word(place) {
            return None;
        }
        Some(self.note_range(kind, self.offset(place) as u64, place.len() as u64))
    }

    /// Copies `origin` to `place`, which is as long, with a note while it is more than one store.
    #[inline(always)]
    pub(crate) fn put(self, place: WriteSpan, origin: ReadSpan) {
        if !place.write_at_once(origin) {
            self.put_block(place, origin);
        }
    }

    /// What is no word, out of the way of single words. What is short is copied in line: a further call would take longer than the copy.
    #[inline(never)]
    fn put_block(self, place: WriteSpan, origin: ReadSpan) {
        if place.write_block_at_once(origin) {
            return;
        }
        // The thread is the one that communicates in most programs.
        let slot = self.node_domain.noted.get().first();
        let is_longer = place.len() > size_of::<u64>();
        let Some(slot) = slot.filter(|_| announcer::has_first_word() && is_longer) else {
            return self.put_next(place, origin);
        };
        let (start, len) = (self.offset(place) as u64, place.len() as u64);
        let _note = slot.begin(self.target_domain.name, OperationKind::Put, start, len);
        place.write_in_line(origin);
    }

    /// Its own function, so that what it keeps over its calls costs the one above nothing.
    #[cold]
    #[inline(never)]
    fn put_next(self, place: WriteSpan, origin: ReadSpan) {
        let _note = self.note(OperationKind::Put, place);
        place.write_from(origin);
    }

    /// [`Domain::note`] of `len` bytes from byte `start` of the memory on.
    #[inline]
    pub(crate) fn note_range(&self, kind: OperationKind, start: u64, len: u64) -> Note<'a> {
        let node_domain = self.node_domain;
        let notes = Notes { slots: node_domain.noted.get(), others: node_domain.own.changing_unnoted() };
        notes.begin(self.target_domain.name, kind, start, len)
    }

    fn offset(&self, element: WriteSpan) -> usize {
        element.as_mut_ptr().addr().wrapping_sub(self.target_domain.start)
    }

    #[cold]
    fn lock(&self, element: WriteSpan) -> Entry<'a> {
        fork::check(CALL);
        let bulk = self.target_domain.control.bulk(self.node_domain.holder);
        if bulk.steps_lock() && self.node_domain.small_runs.fetch_add(1, Relaxed) + 1 >= SMALL_RUNS {
            self.node_domain.small_runs.store(0, Relaxed);
            bulk.switch_to_atomic(&|code| self.node_domain.has_ended(code));
        }
        bulk.lock(self.offset(element), &|code| self.node_domain.has_ended(code))
    }

    /// Switches the accumulate mode, if this process can.
    #[cold]
    fn switch_to_bulk(&self) {
        let (node_domain, bulk) =
            (self.node_domain, self.target_domain.control.bulk(self.node_domain.holder));
        let announcements = node_domain.blocks.iter().map(ControlBlock::announcements);
        bulk.switch_to_bulk(self.target_domain.name, node_domain.barriers, announcements);
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
        fork::check(CALL);
        self.target_domain
            .control
            .unaligned(self.node_domain.holder)
            .exclude(&|code| self.node_domain.has_ended(code))
    }

    #[inline]
    fn enter(&self, element: WriteSpan) -> Entry<'_> {
        self.announce().unwrap_or_else(|| self.lock(element))
    }

    fn enter_run(&self, first: WriteSpan, weight: usize) -> Admission<Entry<'_>> {
        let bulk = self.target_domain.control.bulk(self.node_domain.holder);
        let is_long = weight >= LONG_BYTES;
        let can_switch = is_long && !matches!(self.node_domain.barriers, Barriers::Own);
        let switches = can_switch && !bulk.allows_bulk() && self.node_domain.is_switch_due(weight);
        // Where the accumulate mode is switched already an announcement would be made in vain.
        let locks = switches || (is_long && bulk.steps_lock());
        if !locks && let Some(entry) = self.announce() {
            return Admission { entry, reach: usize::MAX, is_plain: false };
        }
        fork::check(CALL);
        if switches {
            self.switch_to_bulk();
        }
        let offset = self.offset(first);
        let entry = if is_long {
            self.node_domain.make_up(weight);
            bulk.lock(offset, &|code| self.node_domain.has_ended(code))
        } else {
            self.lock(first)
        };
        // Another thread may have switched it back, or a step may not have ended: then this piece is done in
        // steps, under the lock.
        Admission { entry, reach: CHUNK - offset % CHUNK, is_plain: bulk.allows_bulk() }
    }
}
