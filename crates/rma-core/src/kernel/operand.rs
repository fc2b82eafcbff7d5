//! Where operands come from and old values go: plain slices, raw spans, nothing.

use crate::mem::{ReadSpan, Word, WriteSpan};

/// Consecutive operands, at any alignment.
pub trait Source: Copy {
    /// Length in bytes.
    fn byte_len(self) -> usize;

    /// The word at byte `offset`.
    ///
    /// # Panics
    /// When it does not lie within the source.
    fn word_at<W: Word>(self, offset: usize) -> W;
}

/// Room for consecutive old values, at any alignment.
pub trait Sink {
    /// Whether old values are wanted at all.
    const IS_READ: bool = true;

    /// Length in bytes.
    fn byte_len(&self) -> usize;

    /// Stores the word at byte `offset`.
    ///
    /// # Panics
    /// When it does not lie within the sink.
    fn set_word_at<W: Word>(&mut self, offset: usize, word: W);
}

impl Source for &[u8] {
    #[inline]
    fn byte_len(self) -> usize {
        self.len()
    }

    #[inline]
    fn word_at<W: Word>(self, offset: usize) -> W {
        W::from_bytes(&self[offset..])
    }
}

impl Source for ReadSpan {
    #[inline]
    fn byte_len(self) -> usize {
        self.len()
    }

    #[inline]
    fn word_at<W: Word>(self, offset: usize) -> W {
        self.word(offset)
    }
}

impl Sink for &mut [u8] {
    #[inline]
    fn byte_len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn set_word_at<W: Word>(&mut self, offset: usize, word: W) {
        word.to_bytes(&mut self[offset..]);
    }
}

impl Sink for WriteSpan {
    #[inline]
    fn byte_len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn set_word_at<W: Word>(&mut self, offset: usize, word: W) {
        self.set_word(offset, word);
    }
}

/// The sink of an accumulate, which returns nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nowhere;

impl Sink for Nowhere {
    const IS_READ: bool = false;

    #[inline]
    fn byte_len(&self) -> usize {
        usize::MAX
    }

    #[inline]
    fn set_word_at<W: Word>(&mut self, _: usize, _: W) {}
}
