//! Words at equal distances, such as a column of a matrix: in atomic steps, or in plain code where the
//! exclusion allows it.
//!
//! Collecting such short words in private memory, and bringing them back, would cost several times the
//! operation itself; so each is changed in place, by one load and one store. The caller has admission to all
//! of them.

use super::apply::{Work, rewrite, update};
use super::function::Function;
use super::operand::{OperandSource, ResultSink};
use crate::datatype::WriteBlocks;
use crate::mem::{Element, Word};

/// The first `count` of blocks of one aligned word each, operands for them and where old values go.
pub(super) struct Apart<'a, S, R> {
    pub(super) blocks: &'a WriteBlocks,
    pub(super) count: usize,
    pub(super) operand: S,
    pub(super) result: R,
    /// Whether no other thread changes the words meanwhile.
    pub(super) is_plain: bool,
}

impl<'a, S: OperandSource, R: ResultSink> Apart<'a, S, R> {
    pub(super) fn with_result<T: ResultSink>(self, result: T) -> Apart<'a, S, T> {
        let Self { blocks, count, operand, is_plain, .. } = self;
        Apart { blocks, count, operand, result, is_plain }
    }

    #[inline(always)]
    fn each<W: Word, F: Function<W>>(self, change: impl Fn(Element<W>, W, &mut R, usize)) {
        let Self { blocks, count, operand, mut result, .. } = self;
        let Some(elements) = blocks.elements::<W>(count) else {
            unreachable!("blocks of one aligned word each")
        };
        let mut elements = elements.iter();
        let mut next = |index, operand| {
            if let Some(element) = elements.next() {
                change(element, operand, &mut result, index * W::SIZE);
            }
        };
        if F::READS_OPERAND {
            operand.each_word::<W>(count, next);
        } else {
            (0..count).for_each(|index| next(index, W::default()));
        }
    }
}

impl<W: Word, S: OperandSource, R: ResultSink> Work<W> for Apart<'_, S, R> {
    fn run<F: Function<W>>(self) {
        if self.is_plain {
            self.each::<W, F>(rewrite::<W, F, R>);
        } else {
            self.each::<W, F>(update::<W, F, R>);
        }
    }
}
