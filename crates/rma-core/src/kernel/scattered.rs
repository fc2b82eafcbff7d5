//! Kernels on elements that need not lie side by side, on any of the three sides.
//!
//! Words are updated run by run, each element in one step, and straight from and to where the other sides are when those lie
//! side by side for as long; otherwise a small buffer is in between. Other elements are copied out, computed and copied back
//! under the exclusion, so that even one with holes is changed as a whole.

use super::apart::Apart;
use super::apply::Kernel;
use super::exclusion::{Admission, Exclusion};
use super::long::MAX_AT_ONCE;
use super::operand::{Nowhere, Sink, Source};
use super::wide;
use crate::datatype::{BasicType, Gather, Scatter, WriteBlocks};
use crate::mem::{Fold, ReadSpan, Word, WriteSpan};

/// Bytes of the buffers in between: small enough for the stack, a multiple of every word.
const STAGE_BYTES: usize = 1024;

/// Runs from so many bytes on are bulk if the whole transfer is.
const LONG_RUN: usize = 512;

/// Single words for which an admission of their own is worth while; fewer of them are collected from where they are.
const WORTH: usize = 8;

/// Elements of several words that are changed under one guard.
const ELEMENTS_PER_GUARD: usize = 32;

/// What is in between where a side does not lie side by side.
struct Stage {
    operands: [u8; STAGE_BYTES],
    results: [u8; STAGE_BYTES],
    current: [u8; STAGE_BYTES],
}

/// The exclusion of a whole transfer, of which a run is a part.
struct Whole<'a, E> {
    exclusion: &'a E,
    /// Bytes of the transfer.
    bytes: usize,
}

impl<E: Exclusion> Exclusion for Whole<'_, E> {
    type Guard<'g>
        = E::Guard<'g>
    where
        Self: 'g;

    type Entry<'g>
        = E::Entry<'g>
    where
        Self: 'g;

    fn exclude(&self) -> E::Guard<'_> {
        self.exclusion.exclude()
    }

    #[inline]
    fn enter(&self, element: WriteSpan) -> E::Entry<'_> {
        self.exclusion.enter(element)
    }

    fn enter_run(&self, first: WriteSpan, bytes: usize) -> Admission<E::Entry<'_>> {
        self.exclusion.enter_run(first, if bytes < LONG_RUN { bytes } else { self.bytes.max(bytes) })
    }
}

/// The exclusion of words for whose atomic steps the caller has an entry.
struct Entered;

impl Exclusion for Entered {
    type Guard<'a> = ();
    type Entry<'a> = ();

    fn exclude(&self) {
        unreachable!("an entry is for aligned words, and they need no guard")
    }

    #[inline]
    fn enter(&self, _: WriteSpan) {}

    fn enter_run(&self, _: WriteSpan, _: usize) -> Admission<()> {
        Admission { entry: (), reach: usize::MAX, is_plain: false }
    }
}

/// Where the operands come from.
#[derive(Debug)]
pub(crate) enum Operands<'a> {
    /// A packet.
    Bytes(&'a [u8]),
    /// The user's memory.
    Memory(Gather),
    /// Nowhere: the operation reads none.
    None,
}

impl Kernel {
    /// Combines each element of `target`, in the order of its layout, with the next operand.
    ///
    /// # Panics
    /// When there are fewer operands than elements, or a word is torn apart by the layout.
    pub(crate) fn accumulate_scattered(
        self,
        target: Scatter,
        operands: Operands<'_>,
        exclusion: &impl Exclusion,
    ) {
        self.run_scattered(target, operands, None, exclusion);
    }

    /// As [`Kernel::accumulate_scattered`], and stores what each element was before.
    ///
    /// # Panics
    /// As [`Kernel::accumulate_scattered`], and when there is less room than elements.
    pub(crate) fn fetch_scattered(
        self,
        target: Scatter,
        operands: Operands<'_>,
        results: Scatter,
        exclusion: &impl Exclusion,
    ) {
        self.run_scattered(target, operands, Some(results), exclusion);
    }

    fn run_scattered(
        self,
        mut target: Scatter,
        mut operands: Operands<'_>,
        mut results: Option<Scatter>,
        exclusion: &impl Exclusion,
    ) {
        if !self.reads_operand() {
            operands = Operands::None;
        }
        let whole = Whole { exclusion, bytes: usize::try_from(target.remaining()).unwrap_or(usize::MAX) };
        match self.ty().word_size() {
            0 => self.run_wide_scattered(target, operands, results, exclusion),
            word => {
                while let Some(blocks) = target.peek_blocks() {
                    match self.run_apart(&blocks, word, &mut operands, results.as_mut(), &whole) {
                        0 => break,
                        done => target.advance(done),
                    }
                }
                if target.remaining() > 0 {
                    self.run_staged(target, word, operands, results, &whole);
                }
            }
        }
    }

    /// Updates words that do not lie side by side, with which the target goes on, where the other sides do: as many as one
    /// admission covers; says how many bytes. 0 when it is anything else.
    fn run_apart(
        self,
        blocks: &WriteBlocks,
        word: usize,
        operands: &mut Operands<'_>,
        mut results: Option<&mut Scatter>,
        whole: &Whole<'_, impl Exclusion>,
    ) -> usize {
        if blocks.count() == 1 || blocks.block_len() != word || !blocks.are_aligned(word) {
            return 0;
        }
        let wanted = blocks.count().min(MAX_AT_ONCE / word) * word;
        let Some((operand, mut len)) = operands.side_by_side(wanted, word) else { return 0 };
        let old = results.as_ref().map(|results| results.peek(len).unwrap_or(WriteSpan::EMPTY));
        len = old.map_or(len, |old| old.len() - old.len() % word);
        if len < wanted.min(WORTH * word) {
            return 0;
        }
        let admission = whole.exclusion.enter_run(blocks.get(0), whole.bytes);
        let count = blocks.count_within(admission.reach).min(len / word);
        let apart = Apart { blocks, count, operand, result: Nowhere, is_plain: admission.is_plain };
        match old {
            None => self.update_apart(word, apart),
            Some(old) => self.update_apart(word, apart.with_result(old)),
        }
        drop(admission);
        operands.advance(count * word);
        if let Some(results) = &mut results {
            results.advance(count * word);
        }
        count * word
    }

    fn update_apart(self, word: usize, apart: Apart<'_, impl Source, impl Sink>) {
        match word {
            1 => self.choose::<u8, _>(apart),
            2 => self.choose::<u16, _>(apart),
            4 => self.choose::<u32, _>(apart),
            _ => self.choose::<u64, _>(apart),
        }
    }

    /// As the caller, for words in any order on all sides.
    fn run_staged(
        self,
        mut target: Scatter,
        word: usize,
        mut operands: Operands<'_>,
        mut results: Option<Scatter>,
        whole: &Whole<'_, impl Exclusion>,
    ) {
        let mut stage =
            Stage { operands: [0; STAGE_BYTES], results: [0; STAGE_BYTES], current: [0; STAGE_BYTES] };
        while let Some(blocks) = target.peek_blocks() {
            let done = self.run_apart(&blocks, word, &mut operands, results.as_mut(), whole);
            if done > 0 {
                target.advance(done);
                continue;
            }
            let (results, stage) = (results.as_mut(), &mut stage);
            let done = if blocks.count() > 1 && blocks.block_len() <= STAGE_BYTES / 2 {
                self.run_blocks(&target, blocks, word, &mut operands, results, stage, whole)
            } else {
                self.run_words(blocks.get(0), word, &mut operands, results, stage, whole)
            };
            target.advance(done);
        }
    }

    /// Updates short blocks, with which `target` goes on: as many as the stage has room for and one admission covers; says how
    /// many bytes.
    #[allow(clippy::too_many_arguments)] // the three sides, and what is in between
    fn run_blocks(
        self,
        target: &Scatter,
        blocks: WriteBlocks,
        word: usize,
        operands: &mut Operands<'_>,
        results: Option<&mut Scatter>,
        stage: &mut Stage,
        whole: &Whole<'_, impl Exclusion>,
    ) -> usize {
        let len = blocks.block_len();
        assert!(len.is_multiple_of(word), "a word of the target is torn apart");
        let wanted = blocks.count().min(STAGE_BYTES / len);
        if !blocks.are_aligned(word) {
            return self.run_words(blocks.get(0), word, operands, results, stage, whole);
        }
        let admission = whole.exclusion.enter_run(blocks.get(0), whole.bytes);
        let count = wanted.min(blocks.count_within(admission.reach));
        if count == 0 {
            // The first one is cut by the end of what may be changed at once.
            drop(admission);
            return self.run_words(blocks.get(0), word, operands, results, stage, whole);
        }
        let bytes = count * len;
        operands.read(&mut stage.operands[..bytes]);
        let old = &mut stage.results[..bytes];
        if admission.is_plain {
            let current = &mut stage.current[..bytes];
            target.as_gather().read(current);
            if results.is_some() {
                old.copy_from_slice(current);
            }
            if self.reads_operand() {
                self.combine(current, &stage.operands[..bytes]);
                target.clone().write(current);
            }
        } else {
            for (index, operand) in stage.operands[..bytes].chunks_exact(len).enumerate() {
                let block = blocks.get(index);
                if results.is_some() {
                    self.fetch_accumulate(block, operand, &mut old[index * len..][..len], &Entered);
                } else {
                    self.accumulate(block, operand, &Entered);
                }
            }
        }
        drop(admission);
        if let Some(results) = results {
            results.write(old);
        }
        bytes
    }

    /// Updates words of one run, as many as one step of the other sides reaches; says how many bytes.
    fn run_words(
        self,
        run: WriteSpan,
        word: usize,
        operands: &mut Operands<'_>,
        results: Option<&mut Scatter>,
        stage: &mut Stage,
        exclusion: &Whole<'_, impl Exclusion>,
    ) -> usize {
        let (operand, len) = operands.take(run.len(), word, &mut stage.operands);
        assert!(len > 0, "a word of the target is torn apart, or an operand is missing");
        let Some(results) = results else {
            self.accumulate(run.part(0, len), operand, exclusion);
            operands.advance(len);
            return len;
        };
        let len = match room(results, len, word) {
            Some(old) => {
                self.fetch_accumulate(run.part(0, old.byte_len()), operand, old, exclusion);
                old.byte_len()
            }
            None => {
                let old = &mut stage.results[..len.min(STAGE_BYTES)];
                self.fetch_accumulate(run.part(0, old.len()), operand, &mut *old, exclusion);
                results.write(old);
                old.len()
            }
        };
        operands.advance(len);
        len
    }

    fn run_wide_scattered(
        self,
        mut target: Scatter,
        mut operands: Operands<'_>,
        mut results: Option<Scatter>,
        exclusion: &impl Exclusion,
    ) {
        const LEN: usize = ELEMENTS_PER_GUARD * BasicType::MAX_SIZE;
        let (mut current, mut operand) = ([0; LEN], [0; LEN]);
        let step = ELEMENTS_PER_GUARD * self.ty().size();
        while target.remaining() > 0 {
            let len = target.remaining().min(step as u64) as usize;
            let (current, operand) = (&mut current[..len], &mut operand[..len]);
            operands.read(operand);
            let guard = exclusion.exclude();
            target.as_gather().read(current);
            if let Some(results) = &mut results {
                results.write(current);
            }
            if self.reads_operand() {
                wide::combine(self.op(), self.ty(), current, operand);
                target.write(current);
            } else {
                target.advance(len);
            }
            drop(guard);
        }
    }
}

/// Operands of one step, wherever they are.
#[derive(Clone, Copy)]
pub(super) enum Taken<'a> {
    Bytes(&'a [u8]),
    Span(ReadSpan),
}

impl Source for Taken<'_> {
    #[inline]
    fn byte_len(self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Span(span) => span.len(),
        }
    }

    #[inline]
    fn word_at<W: Word>(self, offset: usize) -> W {
        match self {
            Self::Bytes(bytes) => bytes.word_at(offset),
            Self::Span(span) => span.word_at(offset),
        }
    }

    #[inline]
    fn each_word<W: Word>(self, count: usize, use_word: impl FnMut(usize, W)) {
        match self {
            Self::Bytes(bytes) => bytes.each_word(count, use_word),
            Self::Span(span) => span.each_word(count, use_word),
        }
    }

    fn bytes_at(self, offset: usize, into: &mut [u8]) {
        match self {
            Self::Bytes(bytes) => bytes.bytes_at(offset, into),
            Self::Span(span) => span.bytes_at(offset, into),
        }
    }

    fn bytes<'s>(self, offset: usize, stage: &'s mut [u8]) -> &'s [u8]
    where
        Self: 's,
    {
        match self {
            Self::Bytes(bytes) => bytes.bytes(offset, stage),
            Self::Span(span) => span.bytes(offset, stage),
        }
    }

    fn copy_to(self, offset: usize, into: WriteSpan) {
        match self {
            Self::Bytes(bytes) => bytes.copy_to(offset, into),
            Self::Span(span) => span.copy_to(offset, into),
        }
    }

    fn combine_into(self, offset: usize, into: WriteSpan, fold: Fold, before: Option<WriteSpan>) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.combine_into(offset, into, fold, before),
            Self::Span(span) => span.combine_into(offset, into, fold, before),
        }
    }
}

impl<'a> Operands<'a> {
    /// The next operands, at most `limit` bytes and whole words of them; through `stage` where they do not lie side by side.
    fn take<'s>(&self, limit: usize, word: usize, stage: &'s mut [u8]) -> (Taken<'s>, usize)
    where
        'a: 's,
    {
        if let Some(taken) = self.side_by_side(limit, word) {
            return taken;
        }
        let Self::Memory(gather) = self else { return (Taken::Bytes(&[]), 0) };
        let len = (limit as u64).min(gather.remaining()).min(stage.len() as u64) as usize;
        let stage = &mut stage[..len - len % word];
        gather.clone().read(stage);
        (Taken::Bytes(stage), stage.len())
    }

    /// As [`Operands::take`], from where they are; `None` when not even a word of them lies side by side.
    fn side_by_side(&self, limit: usize, word: usize) -> Option<(Taken<'a>, usize)> {
        let whole = |len: usize| len - len % word;
        let (taken, len) = match self {
            Self::None => (Taken::Bytes(&[]), whole(limit)),
            Self::Bytes(bytes) => {
                let len = whole(limit.min(bytes.len()));
                (Taken::Bytes(&bytes[..len]), len)
            }
            Self::Memory(gather) => {
                let span = gather.peek(limit)?;
                let len = whole(span.len());
                (Taken::Span(span.part(0, len)), len)
            }
        };
        (len > 0).then_some((taken, len))
    }

    fn advance(&mut self, len: usize) {
        match self {
            Self::None => {}
            Self::Bytes(bytes) => *bytes = &bytes[len..],
            Self::Memory(gather) => gather.advance(len),
        }
    }

    fn read(&mut self, into: &mut [u8]) {
        match self {
            Self::None => {}
            Self::Bytes(bytes) => {
                let (front, rest) = bytes.split_at(into.len());
                into.copy_from_slice(front);
                *bytes = rest;
            }
            Self::Memory(gather) => gather.read(into),
        }
    }
}

/// Room for the next old values, at most `limit` bytes and whole words, already taken; `None` where they do not lie side by
/// side.
fn room(results: &mut Scatter, limit: usize, word: usize) -> Option<WriteSpan> {
    let span = results.peek(limit)?;
    let len = span.len() - span.len() % word;
    results.advance(len);
    (len > 0).then(|| span.part(0, len))
}
