//! Blocks of words at equal distances, such as the rows of a part of a matrix, with operands in blocks as long: row by row, without
//! a walk over either side. The caller has admission to all of them.

use super::apply::Work;
use super::function::Function;
use super::long::{VECTORS, plain_short, steps};
use super::operand::Nowhere;
use super::pieces::Operands;
use crate::datatype::{Pairs, ReadBlocks, WriteBlocks};
use crate::mem::{Fold, Lent, Word};

/// So many blocks are worth an admission of their own also where others go on behind them.
const MANY: usize = 8;

/// The first `count` of blocks of aligned words, and their operands.
pub(super) struct Rows<'a> {
    pub(super) pairs: &'a Pairs,
    pub(super) count: usize,
    /// Whether no other thread changes the words meanwhile.
    pub(super) is_plain: bool,
}

impl Rows<'_> {
    /// The blocks that the target and operands begin with, if each is worth a call for many words at once, and there are many or no
    /// others of the `remaining` bytes.
    #[inline]
    pub(super) fn pairs(
        targets: &WriteBlocks,
        remaining: u64,
        operands: &Operands<'_>,
        word: usize,
    ) -> Option<Pairs> {
        if targets.block_len() < VECTORS {
            return None;
        }
        let from = match operands {
            Operands::Bytes(bytes) => ReadBlocks::from(Lent::from(*bytes).span()),
            Operands::Memory(gather) => gather.peek_blocks()?,
            Operands::None => return None,
        };
        let pairs = Pairs::new(*targets, from);
        let is_all = pairs.count() > 1 && pairs.bytes() == remaining;
        let is_worth = pairs.block_len() >= VECTORS && (pairs.count() >= MANY || is_all);
        let are_words = pairs.block_len().is_multiple_of(word) && pairs.targets().are_aligned(word);
        (is_worth && are_words).then_some(pairs)
    }
}

impl<W: Word> Work<W> for Rows<'_> {
    fn run<F: Function<W>>(self) {
        let Self { pairs, count, is_plain } = self;
        let rows = (0..count).map(|index| pairs.get(index));
        if is_plain {
            let folding = F::FOLD.and_then(Fold::here);
            rows.for_each(|(row, operands)| {
                plain_short::<W, F, _, _>(row, operands, 0, &mut Nowhere, folding);
            });
        } else {
            rows.for_each(|(row, operands)| steps::<W, F, _, _>(row, operands, 0, &mut Nowhere));
        }
    }
}
