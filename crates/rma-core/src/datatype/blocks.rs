//! Equal segments at equal distances: a run of a walk, bound to memory that may be written.

use super::walk::Run;
use crate::mem::{ElementsApart, Word, WriteSpan};

/// Equal segments at equal distances in memory that may be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteBlocks {
    start: *mut u8,
    run: Run,
}

impl WriteBlocks {
    /// The segments of `run`, of which the first begins at `start`.
    ///
    /// # Safety
    /// As [`WriteSpan::new`] for each.
    #[inline]
    pub(super) unsafe fn new(start: *mut u8, run: Run) -> Self {
        Self { start, run }
    }

    /// Bytes of each.
    #[inline]
    pub(crate) fn block_len(&self) -> usize {
        self.run.len as usize
    }

    /// How many there are.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.run.count as usize
    }

    /// Whether each is a multiple of `word` bytes from address 0.
    #[inline]
    pub(crate) fn are_aligned(&self, word: usize) -> bool {
        let is_first = self.start.addr().is_multiple_of(word);
        is_first && (self.count() == 1 || (self.run.stride as usize).is_multiple_of(word))
    }

    /// How many of them, from the first on, lie within so many bytes from the first byte.
    #[inline]
    pub(crate) fn count_within(&self, reach: usize) -> usize {
        match reach.checked_sub(self.block_len()) {
            _ if reach == usize::MAX => self.count(),
            None => 0,
            Some(rest) => {
                let more =
                    u64::try_from(self.run.stride).ok().and_then(|stride| (rest as u64).checked_div(stride));
                // Blocks that go down in memory leave it at once.
                self.count().min(more.map_or(1, |more| more as usize + 1))
            }
        }
    }

    /// The first `count` of them as one element each; `None` when they have another length or are not naturally aligned.
    ///
    /// # Panics
    /// When there are not so many.
    #[inline]
    pub(crate) fn elements<W: Word>(&self, count: usize) -> Option<ElementsApart<W>> {
        assert!(count <= self.count(), "{count} blocks of {}", self.count());
        if self.block_len() != W::SIZE {
            return None;
        }
        // SAFETY: each is writable by the promise of the maker.
        unsafe { ElementsApart::new(self.start, self.run.stride as isize, count) }
    }

    /// One of them.
    ///
    /// # Panics
    /// When there are not so many.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> WriteSpan {
        assert!(index < self.count(), "block {index} of {}", self.count());
        let offset = (index as isize).wrapping_mul(self.run.stride as isize);
        // SAFETY: the block is writable by the promise of the maker.
        unsafe { WriteSpan::new(self.start.wrapping_offset(offset), self.block_len()) }
    }
}
