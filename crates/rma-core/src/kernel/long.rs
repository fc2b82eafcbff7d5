//! Runs of naturally aligned words: in atomic steps, or in plain code where the exclusion allows it.
//!
//! Plain code works on window memory itself only in assembly (`mem/combine_x86_64.rs`), for what the processor does on many words
//! at once; no slice may be formed of it. The rest copies a block of the target to private memory, combines there, in loops
//! that the compiler makes vector code of, and copies back. A block, its operands and its
//! old values stay in the first-level cache meanwhile, so that memory is read once and written once.

use super::apply::{Work, combine_words, operand, rewrite, update};
use super::exclusion::Exclusion;
use super::function::Function;
use super::operand::{OperandSource, ResultSink};
use crate::mem::{Element, Folding, ReadSpan, Word, WriteSpan};

/// Bytes of a block: it, its operands and its old values lie in the first-level cache together.
const BLOCK: usize = 4 << 10;

/// Words that are changed one by one.
const FEW: usize = 16;

/// Bytes from which on a call for many words at once is worth while.
pub(super) const VECTORS: usize = 32;

/// Bytes of a block of short runs.
const SHORT_BLOCK: usize = 512;

/// Most bytes changed under one entry, so that a long transfer lets others in.
pub(super) const MAX_AT_ONCE: usize = 16 << 10;

/// What so many bytes of words cost in steps, in bytes of words of four or more: each shorter word is a step as well.
pub(super) fn weight(bytes: usize, word: usize) -> usize {
    bytes.saturating_mul((4 / word).max(1))
}

/// Any number of aligned elements.
pub(super) struct Aligned<'a, S, R, E> {
    pub(super) target: WriteSpan,
    pub(super) origin: S,
    pub(super) result: R,
    pub(super) exclusion: &'a E,
}

impl<W: Word, S: OperandSource, R: ResultSink, E: Exclusion> Work<W> for Aligned<'_, S, R, E> {
    fn run<F: Function<W>>(mut self) {
        let (len, mut offset) = (self.target.len(), 0);
        while offset < len {
            let rest = self.target.part(offset, len - offset);
            let admission = self.exclusion.enter_run(rest, weight(rest.len(), W::SIZE));
            // A word belongs to where it begins. By a mask: the check of a general multiple is no small part of a few words.
            let reach = (admission.reach.min(MAX_AT_ONCE) + (W::SIZE - 1)) & !(W::SIZE - 1);
            let part = rest.part(0, rest.len().min(reach));
            if admission.is_plain {
                plain::<W, F, S, R>(part, self.origin, offset, &mut self.result);
            } else {
                steps::<W, F, S, R>(part, self.origin, offset, &mut self.result);
            }
            offset += part.len();
        }
    }
}

/// Combines aligned words with those of `origin`, and stores in `result` what they were.
///
/// # Panics
/// When `origin` or `result` is shorter than `target`.
#[inline]
pub(crate) fn combine_run<W: Word, F: Function<W>>(
    target: WriteSpan,
    origin: ReadSpan,
    result: impl ResultSink,
    exclusion: &impl Exclusion,
) {
    Aligned { target, origin, result, exclusion }.run::<F>();
}

/// One atomic step for each word of `target`; `offset` is where its operands and old values begin.
#[inline]
pub(super) fn steps<W: Word, F: Function<W>, S: OperandSource, R: ResultSink>(
    target: WriteSpan,
    origin: S,
    offset: usize,
    result: &mut R,
) {
    each_word::<W, F, S>(target, origin, offset, |element, operand, offset| {
        update::<W, F, R>(element, operand, result, offset);
    });
}

/// Calls `change` with each word of `target`, its operand, and where its old value goes.
#[inline(always)]
fn each_word<W: Word, F: Function<W>, S: OperandSource>(
    target: WriteSpan,
    origin: S,
    offset: usize,
    mut change: impl FnMut(Element<W>, W, usize),
) {
    let elements = target.elements::<W>();
    for (index, element) in elements.into_iter().flat_map(|elements| elements.iter()).enumerate() {
        let offset = offset + index * W::SIZE;
        change(element, operand::<W, F>(origin, offset), offset);
    }
}

/// As [`plain`], for runs that follow each other and of which each is short: single words for the most part.
#[inline(always)]
pub(super) fn plain_short<W: Word, F: Function<W>, S: OperandSource, R: ResultSink>(
    target: WriteSpan,
    origin: S,
    offset: usize,
    result: &mut R,
    folding: Option<Folding>,
) {
    let done = match folding {
        Some(folding) if target.len() >= VECTORS => in_place::<S, R>(target, origin, offset, result, folding),
        _ => 0,
    };
    if done == target.len() {
        return;
    }
    words::<W, F, S, R>(target.part(done, target.len() - done), origin, offset + done, result);
}

/// As [`steps`], while no other thread changes the words. They are aligned.
#[inline(always)] // runs of words would pay for a call because sums of complex numbers use it too
pub(super) fn plain<W: Word, F: Function<W>, S: OperandSource, R: ResultSink>(
    target: WriteSpan,
    origin: S,
    offset: usize,
    result: &mut R,
) {
    let done = in_place_here::<W, F, S, R>(target, origin, offset, result);
    if done == target.len() {
        return;
    }
    let (target, offset) = (target.part(done, target.len() - done), offset + done);
    // Clearing the buffers is no small part of a short run, and more than all of a few words.
    if target.len() <= FEW * W::SIZE {
        words::<W, F, S, R>(target, origin, offset, result);
    } else if target.len() <= SHORT_BLOCK {
        in_blocks::<W, F, S, R>(target, origin, offset, result, &mut [0; SHORT_BLOCK], &mut [0; SHORT_BLOCK]);
    } else {
        in_blocks::<W, F, S, R>(target, origin, offset, result, &mut [0; BLOCK], &mut [0; BLOCK]);
    }
}

/// As [`plain`], word by word.
#[inline]
fn words<W: Word, F: Function<W>, S: OperandSource, R: ResultSink>(
    target: WriteSpan,
    origin: S,
    offset: usize,
    result: &mut R,
) {
    each_word::<W, F, S>(target, origin, offset, |element, operand, offset| {
        rewrite::<W, F, R>(element, operand, result, offset);
    });
}

/// As [`in_place`], with what this processor does; apart for each function, which is known then.
fn in_place_here<W: Word, F: Function<W>, S: OperandSource, R: ResultSink>(
    target: WriteSpan,
    origin: S,
    offset: usize,
    result: &mut R,
) -> usize {
    let Some(fold) = F::FOLD else { return 0 };
    let before = old_values(target, offset, result);
    let Some(folding) = fold.here() else { return 0 };
    origin.combine_into(offset, target, folding, before)
}

/// As [`plain`], for as many bytes as the processor changes many at once; answers for how many that is.
fn in_place<S: OperandSource, R: ResultSink>(
    target: WriteSpan,
    origin: S,
    offset: usize,
    result: &mut R,
    folding: Folding,
) -> usize {
    origin.combine_into(offset, target, folding, old_values(target, offset, result))
}

/// Where the old values go, if they are not there already.
#[inline(always)]
fn old_values<R: ResultSink>(target: WriteSpan, offset: usize, result: &mut R) -> Option<WriteSpan> {
    let before = result.span(offset, target.len());
    if R::IS_READ && before.is_none() {
        // No other thread touches the words, so that they may be copied out before all of them are changed.
        result.copy_at(offset, target.as_read());
    }
    before
}

#[inline(never)]
fn in_blocks<W: Word, F: Function<W>, S: OperandSource, R: ResultSink>(
    target: WriteSpan,
    origin: S,
    offset: usize,
    result: &mut R,
    current: &mut [u8],
    stage: &mut [u8],
) {
    let mut done = 0;
    while done < target.len() {
        let len = current.len().min(target.len() - done);
        let (block, at) = (target.part(done, len), offset + done);
        if R::IS_READ {
            result.copy_at(at, block.as_read());
        }
        if F::IS_COPY {
            origin.copy_to(at, block);
        } else if F::READS_OPERAND {
            let current = &mut current[..len];
            block.as_read().read(current);
            combine_words::<W, F>(current, origin.bytes(at, &mut stage[..len]));
            block.write(current);
        }
        done += len;
    }
}
