//! The part of a block that one ring has. One of the files of this crate with `unsafe`.
//!
//! A poll looks at words of every ring of every peer, so whether they lie in the block is checked once, when the ring is made:
//! from then on a position picks a line by a mask, which leaves the ring nowhere.
//!
//! Invariants: the three words and all lines lie within the mapping, at multiples of a word's size, as long as the block lives,
//! which this keeps alive; no reference is formed but to atomics, and bytes go through spans.

use super::{Block, Word};
use crate::layout::{LINE, RECORD_HEADER, RingPlace};
use rma_core::mem::WriteSpan;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The words of one ring: those of its control part, and the first one of each line.
#[derive(Debug)]
pub(crate) struct RingMemory {
    addresses: Addresses,
    /// Bytes of all lines less one: they are a power of two.
    mask: usize,
    block: Arc<Block>,
}

#[derive(Debug)]
struct Addresses {
    /// By [`Word`].
    control: [*const AtomicU64; 3],
    lines: *const u8,
}

// SAFETY: they are addresses in a mapping that belongs to no thread, and the block beside them keeps it.
unsafe impl Send for Addresses {}

impl RingMemory {
    /// The words of the ring at this place of the block.
    ///
    /// # Panics
    /// When it does not lie in the block.
    pub(crate) fn new(block: Arc<Block>, place: RingPlace) -> Self {
        let RingPlace { consumed, consumer_alarm, producer_alarm, data, lines, .. } = place;
        assert!(lines.is_power_of_two() && data.is_multiple_of(LINE), "{lines} lines at {data} of a block");
        let bytes = usize::try_from(lines).expect("lines in memory") * LINE;
        let addresses = Addresses {
            control: [consumed, consumer_alarm, producer_alarm].map(|at| std::ptr::from_ref(block.word(at))),
            lines: block.address(data, bytes),
        };
        Self { addresses, mask: bytes - 1, block }
    }

    /// The block that it lies in.
    pub(crate) fn block(&self) -> &Block {
        &self.block
    }

    /// Where the line of a position is among the bytes of all lines.
    pub(crate) fn offset(&self, position: u64) -> usize {
        (position as usize).wrapping_mul(LINE) & self.mask
    }

    /// Bytes of all lines.
    pub(crate) fn len(&self) -> usize {
        self.mask + 1
    }

    pub(crate) fn load(&self, word: Word, ordering: Ordering) -> u64 {
        self.control(word).load(ordering)
    }

    pub(crate) fn store(&self, word: Word, value: u64, ordering: Ordering) {
        self.control(word).store(value, ordering);
    }

    pub(crate) fn swap(&self, word: Word, value: u64, ordering: Ordering) -> u64 {
        self.control(word).swap(value, ordering)
    }

    /// The first word of the line of a position.
    pub(crate) fn load_line(&self, position: u64, ordering: Ordering) -> u64 {
        self.line(position).load(ordering)
    }

    /// Stores the first word of the line of a position.
    pub(crate) fn store_line(&self, position: u64, value: u64, ordering: Ordering) {
        self.line(position).store(value, ordering);
    }

    /// Has the processor bring the line of a position into its cache, which changes nothing but the time of its next use.
    #[inline]
    pub(crate) fn fetch_line_early(&self, position: u64) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let at = std::ptr::from_ref(self.line(position)).cast();
            // SAFETY: the instruction accesses no memory that the program can see, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = position;
    }

    /// Copies payload bytes of the record at a position in, from `at` on, unless they go around the end of the lines; says whether it
    /// has.
    #[inline]
    pub(crate) fn write(&self, position: u64, at: usize, bytes: &[u8]) -> bool {
        self.run(position, at, bytes.len()).map(|run| run.write(bytes)).is_some()
    }

    /// As [`RingMemory::write`], out of the ring.
    #[inline]
    pub(crate) fn read(&self, position: u64, at: usize, into: &mut [u8]) -> bool {
        self.run(position, at, into.len()).map(|run| run.as_read().read(into)).is_some()
    }

    /// So many bytes of the payload of the record at a position, if they lie side by side.
    #[inline]
    fn run(&self, position: u64, at: usize, len: usize) -> Option<WriteSpan> {
        let start = (self.offset(position) + RECORD_HEADER).checked_add(at)?;
        if start.checked_add(len)? > self.len() {
            return None;
        }
        // SAFETY: the bytes are among those that the block has checked to lie in it, which lives as long as `self`; spans stay
        // within this file's methods, and form no reference but to atomics.
        Some(unsafe { WriteSpan::new(self.addresses.lines.add(start).cast_mut(), len) })
    }

    fn control(&self, word: Word) -> &AtomicU64 {
        // SAFETY: the block has checked that the word lies in it and is aligned, and lives as long as `self`; every process
        // accesses it by atomics only.
        unsafe { &*self.addresses.control[word as usize] }
    }

    fn line(&self, position: u64) -> &AtomicU64 {
        // SAFETY: the offset is at most `mask`, less than the bytes that the block has checked to lie in it, and a multiple of a
        // line's, as is the start of the lines in a mapping, which is aligned to pages; so a word fits there and is aligned. The
        // block lives as long as `self`. Where the word belongs to a payload, it is accessed by the copies of spans, which are
        // defined whatever others write meanwhile, and by atomics otherwise.
        unsafe { &*self.addresses.lines.add(self.offset(position)).cast::<AtomicU64>() }
    }
}
