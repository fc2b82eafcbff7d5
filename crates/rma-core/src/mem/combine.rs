//! Combining runs of words in place, on processors without a form of their own: not here, but in blocks that
//! are copied out and back. An architecture may have a faster file of the same functions beside this one.

use super::span::Fold;

/// A loop that this processor can carry out: there is none.
#[derive(Clone, Copy, Debug)]
pub(super) enum FoldLoop {}

impl FoldLoop {
    /// The loop of a fold, if this processor has one.
    pub(super) fn here(_fold: Fold) -> Option<Self> {
        None
    }

    /// Combines the words of `to` with those of `from`, as far as the processor does many at once, and stores in `before`,
    /// unless it is null, what they were; answers for how many bytes it has.
    ///
    /// # Safety
    /// `from` must be readable, `to` and `before`, if not null, writable for `len` bytes. Others may access all of them at the
    /// same time.
    pub(super) unsafe fn run(self, _to: *mut u8, _from: *const u8, _before: *mut u8, _len: usize) -> usize {
        match self {}
    }
}
