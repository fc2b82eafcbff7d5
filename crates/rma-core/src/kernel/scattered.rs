//! Kernels on elements that need not lie side by side, on any of the three sides.
//!
//! Words are updated where they are, each in one step, and straight from and to where the other sides are; a small buffer is in
//! between where those are torn, or in pieces much shorter than the target's. As many words as one admission covers are
//! changed under it. Other elements are copied out, computed and copied back under the exclusion, so that even one with
//! holes is changed as a whole.

use super::apart::Apart;
use super::apply::{Kernel, Work};
use super::exclusion::Exclusion;
use super::long::{MAX_AT_ONCE, weight};
use super::operand::{Nowhere, ResultSink};
use super::pieces::{Kept, Operands, Pieces, Rooms, are_words};
use super::rows::Rows;
use super::wide;
use crate::datatype::{BasicType, Layout, Pairs, Scatter, WriteBlocks};
use crate::mem::WriteSpan;
use std::borrow::Borrow;

/// Bytes of the buffers in between: small enough for the stack, a multiple of every word.
const STAGING_BYTES: usize = 1024;

/// Single words for which an admission of their own is worth while; fewer of them are collected from where they are.
const WORTH: usize = 8;

/// What is in pieces of so many bytes on another side is used where it is, also when the target's are longer.
const LONG_PIECE: usize = 64;

/// Elements of several words that are changed under one guard.
const ELEMENTS_PER_GUARD: usize = 32;

/// What is in between where a side does not lie side by side.
struct StagingBuffers {
    operands: [u8; STAGING_BYTES],
    results: [u8; STAGING_BYTES],
}

/// What all steps of one transfer have in common.
struct Whole<'a, E> {
    exclusion: &'a E,
    /// Bytes of a word.
    word: usize,
    /// What the transfer weighs.
    weight: usize,
}

impl Kernel {
    /// Combines each element of `target`, in the order of its layout, with the next operand.
    ///
    /// # Panics
    /// When there are fewer operands than elements, or a word is torn apart by the layout.
    pub(crate) fn accumulate_scattered(
        self,
        target: &Scatter<impl Borrow<Layout>>,
        operands: Operands<'_>,
        exclusion: &impl Exclusion,
    ) {
        self.run_scattered(target.ahead(), operands, None, exclusion);
    }

    /// As [`Kernel::accumulate_scattered`], and stores what each element was before.
    ///
    /// # Panics
    /// As [`Kernel::accumulate_scattered`], and when there is less room than elements.
    pub(crate) fn fetch_scattered(
        self,
        target: &Scatter<impl Borrow<Layout>>,
        operands: Operands<'_>,
        results: &Scatter<impl Borrow<Layout>>,
        exclusion: &impl Exclusion,
    ) {
        self.run_scattered(target.ahead(), operands, Some(results.ahead()), exclusion);
    }

    fn run_scattered(
        self,
        mut target: Scatter<&Layout>,
        mut operands: Operands<'_>,
        mut results: Option<Scatter<&Layout>>,
        exclusion: &impl Exclusion,
    ) {
        if !self.reads_operand() {
            operands = Operands::None;
        }
        let word = self.ty().word_size();
        if word == 0 {
            return self.run_wide_scattered(target, operands, results, exclusion);
        }
        let bytes = usize::try_from(target.remaining()).unwrap_or(usize::MAX);
        let whole = Whole { exclusion, word, weight: weight(bytes, word) };
        while let Some(blocks) = target.peek_blocks() {
            match self.run_words(&target, &blocks, &mut operands, results.as_mut(), None, &whole) {
                0 => return self.run_staged(target, operands, results, &whole),
                done => target.advance(done),
            }
        }
    }

    /// As the caller, with something in between. To clear that is no small part of a short transfer.
    #[inline(never)]
    fn run_staged(
        self,
        mut target: Scatter<&Layout>,
        mut operands: Operands<'_>,
        mut results: Option<Scatter<&Layout>>,
        whole: &Whole<'_, impl Exclusion>,
    ) {
        let mut staging = StagingBuffers { operands: [0; STAGING_BYTES], results: [0; STAGING_BYTES] };
        while let Some(blocks) = target.peek_blocks() {
            let staging = &mut staging;
            let mut done =
                self.run_words(&target, &blocks, &mut operands, results.as_mut(), Some(staging), whole);
            if done == 0 {
                done = self.run_unaligned(blocks.get(0), &mut operands, results.as_mut(), staging, whole);
            }
            target.advance(done);
        }
    }

    /// Updates aligned words with which the target goes on; says how many bytes. 0 when there are none, or staging buffers are needed
    /// and not there.
    #[inline]
    fn run_words(
        self,
        target: &Scatter<&Layout>,
        blocks: &WriteBlocks,
        operands: &mut Operands<'_>,
        results: Option<&mut Scatter<&Layout>>,
        staging: Option<&mut StagingBuffers>,
        whole: &Whole<'_, impl Exclusion>,
    ) -> usize {
        if blocks.count() > 1 && blocks.block_len() == whole.word && blocks.are_aligned(whole.word) {
            return self.run_apart(blocks, operands, results, staging, whole);
        }
        if results.is_none()
            && let Some(pairs) = Rows::pairs(blocks, target.remaining(), operands, whole.word)
            && let Some(done) = self.run_rows(&pairs, whole)
        {
            operands.advance(done);
            return done;
        }
        self.run_pieces(target, blocks.get(0), operands, results, staging, whole)
    }

    /// As the caller, for single words at equal distances.
    fn run_apart(
        self,
        blocks: &WriteBlocks,
        operands: &mut Operands<'_>,
        mut results: Option<&mut Scatter<&Layout>>,
        staging: Option<&mut StagingBuffers>,
        whole: &Whole<'_, impl Exclusion>,
    ) -> usize {
        let word = whole.word;
        let (stage_operands, stage_results) = StagingBuffers::parts(staging);
        let wanted = blocks.count().min(MAX_AT_ONCE / word) * word;
        let least = wanted.min(WORTH * word);
        let Some((operand, mut len)) = operands.take(wanted, least, word, stage_operands) else { return 0 };
        let mut kept = None;
        if let Some(results) = &results {
            let Some(room) = Kept::room(results, len, least, word, stage_results) else { return 0 };
            len = len.min(room.byte_len());
            kept = Some(room);
        }
        let admission = whole.exclusion.enter_run(blocks.get(0), whole.weight);
        let count = blocks.count_within(admission.reach).min(len / word);
        let apart = Apart { blocks, count, operand, result: Nowhere, is_plain: admission.is_plain };
        match &mut kept {
            None => self.choose_word(word, apart),
            Some(Kept::There(old)) => self.choose_word(word, apart.with_result(*old)),
            Some(Kept::Stage(old)) => self.choose_word(word, apart.with_result(&mut **old)),
        }
        drop(admission);
        operands.advance(count * word);
        if let (Some(results), Some(kept)) = (&mut results, kept) {
            kept.bring(results, count * word);
        }
        count * word
    }

    /// As the caller, for blocks at equal distances, with operands in blocks as long; `None` when the admission ends within the
    /// first.
    fn run_rows(self, pairs: &Pairs, whole: &Whole<'_, impl Exclusion>) -> Option<usize> {
        let (targets, len) = (pairs.targets(), pairs.block_len());
        let admission = whole.exclusion.enter_run(targets.get(0), whole.weight);
        let count = targets.count_within(admission.reach).min((MAX_AT_ONCE / len).max(1));
        if count == 0 {
            return None;
        }
        self.choose_word(whole.word, Rows { pairs, count, is_plain: admission.is_plain });
        Some(count * len)
    }

    /// As the caller, for pieces of any length and anywhere, of which this is the first.
    fn run_pieces(
        self,
        target: &Scatter<&Layout>,
        first: WriteSpan,
        operands: &mut Operands<'_>,
        results: Option<&mut Scatter<&Layout>>,
        staging: Option<&mut StagingBuffers>,
        whole: &Whole<'_, impl Exclusion>,
    ) -> usize {
        let word = whole.word;
        let first = first.part(0, first.len().min(MAX_AT_ONCE));
        if !are_words(first, word) {
            return 0;
        }
        let (stage_operands, stage_results) = StagingBuffers::parts(staging);
        let mut limit = usize::try_from(target.remaining()).unwrap_or(usize::MAX).min(MAX_AT_ONCE);
        // A side in shorter pieces than the target is better collected in between.
        let least = first.len().min(LONG_PIECE).min(limit);
        let Some(front) = operands.front(limit, least, word, stage_operands) else { return 0 };
        limit = limit.min(front.all());
        let mut staged = None;
        let (mut there, mut behind) = (WriteSpan::EMPTY, None);
        if let Some(results) = &results {
            limit = limit.min(usize::try_from(results.remaining()).unwrap_or(usize::MAX));
            if let Some((next, more)) = results.upcoming() {
                (there, behind) = (next.part(0, next.len().min(limit)), Some(more));
            }
            if there.len() < least.min(limit).max(word) {
                let Some(stage) = stage_results else { return 0 };
                limit = limit.min(stage.len());
                staged = Some(stage);
            }
        }
        let admission = whole.exclusion.enter_run(first, whole.weight);
        let (reach, is_plain) = (admission.reach, admission.is_plain);
        let mut bytes = 0;
        let done = &mut bytes;
        match (&results, &mut staged) {
            (None, _) => {
                let pieces = Pieces { target, reach, front, result: Nowhere, limit, is_plain, done };
                self.choose_word(word, pieces);
            }
            (Some(_), staged) => {
                let result = match staged {
                    Some(stage) => Rooms::staged(stage),
                    None => Rooms::there(there, behind),
                };
                self.choose_word(word, Pieces { target, reach, front, result, limit, is_plain, done });
            }
        }
        drop(admission);
        operands.advance(bytes);
        match (results, staged) {
            (Some(results), Some(stage)) => results.write(&stage[..bytes]),
            (Some(results), None) => results.advance(bytes),
            (None, _) => {}
        }
        bytes
    }

    fn choose_word<T: Work<u8> + Work<u16> + Work<u32> + Work<u64>>(self, word: usize, work: T) {
        match word {
            1 => self.choose::<u8, _>(work),
            2 => self.choose::<u16, _>(work),
            4 => self.choose::<u32, _>(work),
            _ => self.choose::<u64, _>(work),
        }
    }

    /// Updates words of one run that are not aligned, as many as the other sides have; says how many bytes.
    #[cold]
    fn run_unaligned(
        self,
        run: WriteSpan,
        operands: &mut Operands<'_>,
        results: Option<&mut Scatter<&Layout>>,
        staging: &mut StagingBuffers,
        whole: &Whole<'_, impl Exclusion>,
    ) -> usize {
        let word = whole.word;
        let taken = operands.take(run.len(), STAGING_BYTES, word, Some(&mut staging.operands));
        let Some((operand, len)) = taken else {
            panic!("a word of the target is torn apart, or an operand is missing")
        };
        let Some(results) = results else {
            self.accumulate(run.part(0, len), operand, whole.exclusion);
            operands.advance(len);
            return len;
        };
        let kept = Kept::room(results, len, STAGING_BYTES, word, Some(&mut staging.results));
        let Some(mut kept) = kept else { unreachable!("there are staging buffers") };
        let len = kept.byte_len();
        self.fetch_accumulate(run.part(0, len), operand, kept.reborrow(), whole.exclusion);
        operands.advance(len);
        kept.bring(results, len);
        len
    }

    fn run_wide_scattered(
        self,
        mut target: Scatter<&Layout>,
        mut operands: Operands<'_>,
        mut results: Option<Scatter<&Layout>>,
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

impl StagingBuffers {
    fn parts(staging: Option<&mut Self>) -> (Option<&mut [u8]>, Option<&mut [u8]>) {
        match staging {
            Some(Self { operands, results }) => (Some(operands), Some(results)),
            None => (None, None),
        }
    }
}
