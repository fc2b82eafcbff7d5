//! Compare-and-swap: the one operation with two operands.

use super::exclusion::Exclusion;
use super::operand::{OperandSource, ResultSink};
use crate::datatype::{BasicType, TypeClass};
use crate::mem::{Word, WriteSpan};

/// Compare-and-swap on a type that may be compared: integers, truth values and bytes (MPI 3.1 §11.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompareAndSwap {
    ty: BasicType,
}

impl CompareAndSwap {
    /// The operation on this type; `None` when the type is not one of the standard's list.
    #[inline]
    pub const fn new(ty: BasicType) -> Option<Self> {
        match ty.class() {
            TypeClass::Signed | TypeClass::Unsigned | TypeClass::Logical | TypeClass::Byte => {
                Some(Self { ty })
            }
            TypeClass::Float | TypeClass::Complex | TypeClass::Character | TypeClass::Pair => None,
        }
    }

    /// The type of the element.
    #[inline]
    pub const fn ty(self) -> BasicType {
        self.ty
    }

    /// Stores the element of `origin` in the one of `target` if that equals the one of `compare`, and in `result` what
    /// the target was before, in one step.
    ///
    /// # Panics
    /// When one of the four is shorter than an element.
    #[inline]
    pub fn apply(
        self,
        target: WriteSpan,
        compare: impl OperandSource,
        origin: impl OperandSource,
        result: impl ResultSink,
        exclusion: &impl Exclusion,
    ) {
        match self.ty.size() {
            1 => compare_and_swap::<u8>(target, compare, origin, result, exclusion),
            2 => compare_and_swap::<u16>(target, compare, origin, result, exclusion),
            4 => compare_and_swap::<u32>(target, compare, origin, result, exclusion),
            _ => compare_and_swap::<u64>(target, compare, origin, result, exclusion),
        }
    }
}

/// The one step on an aligned element; `false`, and nothing done, when `target` is none.
#[inline(always)]
fn swap_aligned<W: Word>(
    target: WriteSpan,
    compare: impl OperandSource,
    origin: impl OperandSource,
    mut result: impl ResultSink,
    exclusion: &impl Exclusion,
) -> bool {
    let Some(element) = target.element::<W>(0) else { return false };
    let (compare, new) = (compare.word_at::<W>(0), origin.word_at::<W>(0));
    let entry = exclusion.enter(target);
    let before = element.compare_exchange(compare, new).unwrap_or_else(|found| found);
    drop(entry);
    result.set_word_at(0, before);
    true
}

#[inline]
fn compare_and_swap<W: Word>(
    target: WriteSpan,
    compare: impl OperandSource,
    origin: impl OperandSource,
    mut result: impl ResultSink,
    exclusion: &impl Exclusion,
) {
    assert!(result.byte_len() >= W::SIZE, "no room for the old value");
    if target.element::<W>(0).is_some() {
        swap_aligned::<W>(target, compare, origin, result, exclusion);
        return;
    }
    let (compare, new) = (compare.word_at::<W>(0), origin.word_at::<W>(0));
    let guard = exclusion.exclude();
    let before = target.as_read().word::<W>(0);
    if before == compare {
        target.set_word(0, new);
    }
    drop(guard);
    result.set_word_at(0, before);
}
