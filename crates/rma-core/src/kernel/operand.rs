//! Where operands come from and old values go: plain slices, raw spans, nothing.

use crate::mem::{Folding, ReadSpan, Word, WriteSpan};

/// Consecutive operands, at any alignment.
pub trait OperandSource: Copy {
    /// Length in bytes.
    fn byte_len(self) -> usize;

    /// The word at byte `offset`.
    ///
    /// # Panics
    /// When it does not lie within the source.
    fn word_at<W: Word>(self, offset: usize) -> W;

    /// Calls `use_word` with the first `count` words in order, and how many have been before each.
    ///
    /// # Panics
    /// When they do not lie within the source.
    #[inline]
    fn each_word<W: Word>(self, count: usize, mut use_word: impl FnMut(usize, W)) {
        (0..count).for_each(|index| use_word(index, self.word_at(index * W::SIZE)));
    }

    /// Copies the bytes from byte `offset` on.
    ///
    /// # Panics
    /// When they do not lie within the source.
    fn bytes_at(self, offset: usize, into: &mut [u8]);

    /// As many bytes as `stage` has from byte `offset` on, in the stage if they are not private memory already.
    ///
    /// # Panics
    /// When they do not lie within the source.
    fn bytes<'s>(self, offset: usize, stage: &'s mut [u8]) -> &'s [u8]
    where
        Self: 's,
    {
        self.bytes_at(offset, stage);
        stage
    }

    /// Copies the bytes from byte `offset` on to all of `into`.
    ///
    /// # Panics
    /// When they do not lie within the source.
    fn copy_to(self, offset: usize, into: WriteSpan);

    /// Combines the words of `into` with the bytes from byte `offset` on in place, as far as the processor does many at once, and
    /// stores in `before` what they were; answers for how many bytes it has.
    ///
    /// # Panics
    /// When they do not lie within the source.
    #[doc(hidden)]
    fn combine_into(
        self,
        offset: usize,
        into: WriteSpan,
        folding: Folding,
        before: Option<WriteSpan>,
    ) -> usize {
        let _ = (offset, into, folding, before);
        0
    }
}

/// Room for consecutive old values, at any alignment.
pub trait ResultSink {
    /// Whether old values are wanted at all.
    const IS_READ: bool = true;

    /// Length in bytes.
    fn byte_len(&self) -> usize;

    /// Stores the word at byte `offset`.
    ///
    /// # Panics
    /// When it does not lie within the sink.
    fn set_word_at<W: Word>(&mut self, offset: usize, word: W);

    /// Stores bytes at byte `offset`.
    ///
    /// # Panics
    /// When they do not lie within the sink.
    fn set_bytes_at(&mut self, offset: usize, bytes: &[u8]);

    /// Stores all bytes of `from` at byte `offset`.
    ///
    /// # Panics
    /// When they do not lie within the sink.
    fn copy_at(&mut self, offset: usize, from: ReadSpan);

    /// The bytes from byte `offset` on as a span; `None` when they have to be copied there.
    ///
    /// # Panics
    /// When they do not lie within the sink.
    fn span(&mut self, offset: usize, len: usize) -> Option<WriteSpan>;
}

impl OperandSource for &[u8] {
    #[inline]
    fn byte_len(self) -> usize {
        self.len()
    }

    #[inline]
    fn word_at<W: Word>(self, offset: usize) -> W {
        W::from_bytes(&self[offset..])
    }

    fn bytes_at(self, offset: usize, into: &mut [u8]) {
        into.copy_from_slice(&self[offset..offset + into.len()]);
    }

    fn bytes<'s>(self, offset: usize, stage: &'s mut [u8]) -> &'s [u8]
    where
        Self: 's,
    {
        &self[offset..offset + stage.len()]
    }

    fn copy_to(self, offset: usize, into: WriteSpan) {
        into.write(&self[offset..offset + into.len()]);
    }

    fn combine_into(
        self,
        offset: usize,
        into: WriteSpan,
        folding: Folding,
        before: Option<WriteSpan>,
    ) -> usize {
        into.combine_with(folding, &self[offset..offset + into.len()], before)
    }
}

impl OperandSource for ReadSpan {
    #[inline]
    fn byte_len(self) -> usize {
        self.len()
    }

    #[inline]
    fn word_at<W: Word>(self, offset: usize) -> W {
        self.word(offset)
    }

    #[inline]
    fn each_word<W: Word>(self, count: usize, mut use_word: impl FnMut(usize, W)) {
        let span = self.part(0, count * W::SIZE);
        match span.words::<W>() {
            // Where each word begins, and that it is aligned, is not to be asked of each.
            Some(words) => words.enumerate().for_each(|(index, word)| use_word(index, word)),
            None => (0..count).for_each(|index| use_word(index, span.word(index * W::SIZE))),
        }
    }

    fn bytes_at(self, offset: usize, into: &mut [u8]) {
        self.part(offset, into.len()).read(into);
    }

    fn copy_to(self, offset: usize, into: WriteSpan) {
        into.write_from(self.part(offset, into.len()));
    }

    #[inline(always)] // into callers that know the loop
    fn combine_into(
        self,
        offset: usize,
        into: WriteSpan,
        folding: Folding,
        before: Option<WriteSpan>,
    ) -> usize {
        into.combine(folding, self.part(offset, into.len()), before)
    }
}

impl ResultSink for &mut [u8] {
    #[inline]
    fn byte_len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn set_word_at<W: Word>(&mut self, offset: usize, word: W) {
        word.to_bytes(&mut self[offset..]);
    }

    fn set_bytes_at(&mut self, offset: usize, bytes: &[u8]) {
        self[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn copy_at(&mut self, offset: usize, from: ReadSpan) {
        from.read(&mut self[offset..offset + from.len()]);
    }

    fn span(&mut self, _: usize, _: usize) -> Option<WriteSpan> {
        None
    }
}

impl ResultSink for WriteSpan {
    #[inline]
    fn byte_len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn set_word_at<W: Word>(&mut self, offset: usize, word: W) {
        self.set_word(offset, word);
    }

    fn set_bytes_at(&mut self, offset: usize, bytes: &[u8]) {
        self.part(offset, bytes.len()).write(bytes);
    }

    fn copy_at(&mut self, offset: usize, from: ReadSpan) {
        self.part(offset, from.len()).write_from(from);
    }

    fn span(&mut self, offset: usize, len: usize) -> Option<WriteSpan> {
        Some(self.part(offset, len))
    }
}

/// The sink of an accumulate, which returns nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nowhere;

impl ResultSink for Nowhere {
    const IS_READ: bool = false;

    #[inline]
    fn byte_len(&self) -> usize {
        usize::MAX
    }

    #[inline]
    fn set_word_at<W: Word>(&mut self, _: usize, _: W) {}

    fn set_bytes_at(&mut self, _: usize, _: &[u8]) {}

    fn copy_at(&mut self, _: usize, _: ReadSpan) {}

    fn span(&mut self, _: usize, _: usize) -> Option<WriteSpan> {
        None
    }
}
