//! A block in memory shared with another process. One of the files of this crate with `unsafe`.
//!
//! Invariants: offsets are checked against the mapping on every use, whatever they were computed from (`ring_memory` checks those of
//! a ring's words once); no reference is ever formed but to atomics; bytes go through spans, whose copies are defined although the
//! other process may write at the same time.

use crate::segment::Mapping;
use rma_core::datatype::{Gather, Scatter};
use rma_core::mem::WriteSpan;
use std::sync::atomic::AtomicU64;
#[cfg(test)]
use std::sync::atomic::Ordering;

/// Shared memory that rings lie in.
#[derive(Debug)]
pub(crate) struct Block {
    mapping: Mapping,
}

impl Block {
    pub(crate) fn new(mapping: Mapping) -> Self {
        Self { mapping }
    }

    /// Length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.mapping.len()
    }

    #[cfg(test)]
    pub(crate) fn store(&self, offset: usize, value: u64, ordering: Ordering) {
        self.word(offset).store(value, ordering);
    }

    pub(crate) fn write(&self, offset: usize, from: &[u8]) {
        self.span(offset, from.len()).write(from);
    }

    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) {
        self.span(offset, into.len()).as_read().read(into);
    }

    /// Copies the next `len` bytes of `gather` in.
    pub(crate) fn write_from(&self, offset: usize, len: usize, gather: &mut Gather) {
        let copied = gather.copy_to(self.span(offset, len));
        assert_eq!(copied, len, "the gather had fewer bytes than it said");
    }

    /// Copies `len` bytes out to `scatter`.
    pub(crate) fn read_to(&self, offset: usize, len: usize, scatter: &mut Scatter) {
        let copied = scatter.copy_from(self.span(offset, len).as_read());
        assert_eq!(copied, len, "the caller has compared the length with what remains");
    }

    /// Where so many bytes lie.
    pub(super) fn address(&self, offset: usize, len: usize) -> *const u8 {
        self.span(offset, len).as_mut_ptr()
    }

    /// A word, which must be aligned.
    pub(super) fn word(&self, offset: usize) -> &AtomicU64 {
        let span = self.span(offset, size_of::<u64>());
        let word = span.as_mut_ptr().cast::<AtomicU64>();
        assert!(word.is_aligned(), "word at {offset} of a block");
        // SAFETY: the span has checked that the eight bytes lie within the mapping, which lives as long as `self`; they
        // are aligned; and every process accesses them by atomics only.
        unsafe { &*word }
    }

    fn span(&self, offset: usize, len: usize) -> WriteSpan {
        // SAFETY: spans stay within this file's methods, which borrow `self` and so the mapping, and form no reference
        // but to atomics.
        unsafe { self.mapping.span(offset, len) }
    }
}
