//! Equal segments at equal distances: runs of walks, bound to memory.

use super::walk::Run;
use crate::mem::{ElementsApart, ReadSpan, Side, Word, WriteSpan};

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

/// Equal segments at equal distances in memory that may be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadBlocks {
    start: *const u8,
    run: Run,
}

impl From<ReadSpan> for ReadBlocks {
    #[inline]
    fn from(span: ReadSpan) -> Self {
        let run = Run { offset: 0, len: span.len() as u64, count: 1, stride: 0 };
        Self { start: span.as_ptr(), run }
    }
}

impl ReadBlocks {
    /// The segments of `run`, of which the first begins at `start`.
    ///
    /// # Safety
    /// As [`ReadSpan::new`] for each.
    #[inline]
    pub(super) unsafe fn new(start: *const u8, run: Run) -> Self {
        Self { start, run }
    }
}

/// Equal blocks that two sides begin with, as [`Matched`] says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairs {
    to: Side<*mut u8>,
    from: Side<*const u8>,
    len: usize,
    count: usize,
}

impl Pairs {
    #[inline]
    pub(crate) fn new(to: WriteBlocks, from: ReadBlocks) -> Self {
        let Matched { len, count, from_stride, to_stride } = Matched::of(from.run, to.run);
        Self {
            to: Side { start: to.start, stride: to_stride as isize },
            from: Side { start: from.start, stride: from_stride as isize },
            len: len as usize,
            count: count as usize,
        }
    }

    /// Bytes of each block.
    #[inline]
    pub(crate) fn block_len(&self) -> usize {
        self.len
    }

    /// How many blocks each side has.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Bytes of all blocks of one side.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        // Both are of one layout.
        self.len as u64 * self.count as u64
    }

    /// The blocks that are written.
    #[inline]
    pub(crate) fn targets(&self) -> WriteBlocks {
        let Self { to: Side { start, stride }, len, count, .. } = *self;
        let run = Run { offset: 0, len: len as u64, count: count as u64, stride: stride as i64 };
        WriteBlocks { start, run }
    }

    /// One pair of them.
    ///
    /// # Panics
    /// When there are not so many.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> (WriteSpan, ReadSpan) {
        assert!(index < self.count, "block {index} of {}", self.count);
        let at = |stride: isize| (index as isize).wrapping_mul(stride);
        // SAFETY: both are segments, or parts of segments, of what the makers of the two sides promised to be writable and
        // readable.
        unsafe {
            let to = WriteSpan::new(self.to.start.wrapping_offset(at(self.to.stride)), self.len);
            (to, ReadSpan::new(self.from.start.wrapping_offset(at(self.from.stride)), self.len))
        }
    }
}

/// Blocks that two runs begin with. The first segment of one, if it is longer, is cut into blocks as long as the other's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matched {
    pub(super) len: u64,
    pub(super) count: u64,
    pub(super) from_stride: i64,
    pub(super) to_stride: i64,
}

impl Matched {
    #[inline]
    pub(super) fn of(from: Run, to: Run) -> Self {
        let len = from.len.min(to.len);
        let (count, from_stride, to_stride) = if from.len == to.len {
            (from.count.min(to.count), from.stride, to.stride)
        } else if from.len > to.len {
            (cut(from.len, to), len as i64, to.stride)
        } else {
            (cut(to.len, from), from.stride, len as i64)
        };
        Self { len, count, from_stride, to_stride }
    }

    /// Bytes of all blocks of one side.
    #[inline]
    pub(super) fn bytes(self) -> u64 {
        // Both are of one layout.
        self.len * self.count
    }

    /// The first of them, or the first part of the first one, which have no more than `most` bytes.
    #[inline]
    pub(super) fn within(self, most: u64) -> Self {
        if self.bytes() <= most {
            self
        } else if self.len >= most {
            Self { len: most, count: 1, ..self }
        } else {
            Self { count: most / self.len, ..self }
        }
    }
}

/// How many segments of a run so many bytes are.
#[inline]
fn cut(len: u64, run: Run) -> u64 {
    // As of a walk: mostly all of them, and a division is slow.
    if run.len * run.count <= len { run.count } else { len / run.len }
}
