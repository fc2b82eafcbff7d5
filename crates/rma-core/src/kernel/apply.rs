//! Applying operations: from (operation, type) to one function over one width, for one element or a run of them.
//!
//! Invariant: an element's fetch and update are one step against every other kernel on the same memory. Naturally aligned
//! elements use element atomics; the others are changed under the [`Exclusion`] the caller brings. The two never meet on
//! one element: all processes see an address with the same offset in its page, and overlapping elements that are not the
//! same element have no defined outcome (MPI 3.1 §11.7.1).

use super::function::{self as f, Function, Number};
use super::op::ReduceOp;
use super::operand::{Nowhere, Sink, Source};
use crate::datatype::BasicType;
use crate::mem::{Element, Elements, Word, WriteSpan};

/// Elements changed under one guard, so that a long unaligned transfer lets others in.
const UNALIGNED_ELEMENTS_PER_GUARD: usize = 64;

/// Keeps other kernels away from unaligned elements of the same window memory.
///
/// Everybody who can reach the memory uses the same exclusion; the guard's begin and end order what they guard.
pub trait Exclusion {
    /// Excludes others until dropped.
    type Guard<'a>
    where
        Self: 'a;

    /// Waits until nobody else holds a guard.
    fn exclude(&self) -> Self::Guard<'_>;
}

/// The exclusion of memory that only the caller changes: private memory of the target's engine, or of a test.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sole;

impl Exclusion for Sole {
    type Guard<'a> = ();

    #[inline]
    fn exclude(&self) {}
}

/// An operation on a type it is defined on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    op: ReduceOp,
    ty: BasicType,
}

impl Kernel {
    /// The kernel of this pair; `None` when the operation is not defined on the type.
    #[inline]
    pub const fn new(op: ReduceOp, ty: BasicType) -> Option<Self> {
        if op.is_defined_on(ty) { Some(Self { op, ty }) } else { None }
    }

    /// The operation.
    #[inline]
    pub const fn op(self) -> ReduceOp {
        self.op
    }

    /// The type of the elements.
    #[inline]
    pub const fn ty(self) -> BasicType {
        self.ty
    }

    /// Combines each element of `target` with the element of `origin` at the same position. `NO_OP` does nothing.
    ///
    /// # Panics
    /// When `target` is not whole elements, or `origin` is shorter than it (for `NO_OP` it may be empty).
    #[inline]
    pub fn accumulate(self, target: WriteSpan, origin: impl Source, exclusion: &impl Exclusion) {
        self.run(target, origin, Nowhere, exclusion);
    }

    /// As [`Kernel::accumulate`], and stores in `result` what each element was before.
    ///
    /// # Panics
    /// As [`Kernel::accumulate`], and when `result` is shorter than `target`.
    #[inline]
    pub fn fetch_accumulate(
        self,
        target: WriteSpan,
        origin: impl Source,
        result: impl Sink,
        exclusion: &impl Exclusion,
    ) {
        self.run(target, origin, result, exclusion);
    }

    #[inline]
    fn run(self, target: WriteSpan, origin: impl Source, result: impl Sink, exclusion: &impl Exclusion) {
        match self.ty.size() {
            1 => self.run_width::<u8>(target, origin, result, exclusion),
            2 => self.run_width::<u16>(target, origin, result, exclusion),
            4 => self.run_width::<u32>(target, origin, result, exclusion),
            _ => self.run_width::<u64>(target, origin, result, exclusion),
        }
    }

    #[inline]
    fn run_width<W: Number>(
        self,
        target: WriteSpan,
        origin: impl Source,
        result: impl Sink,
        exclusion: &impl Exclusion,
    ) {
        let len = target.len();
        if len == W::SIZE
            && let Some(element) = target.element::<W>(0)
        {
            self.check_lengths::<W>(len, origin.byte_len(), result.byte_len());
            let operand = if self.reads_operand() { origin.word_at(0) } else { W::default() };
            self.choose::<W, _>(One { element, operand, result });
        } else {
            self.run_long::<W>(target, origin, result, exclusion);
        }
    }

    #[inline(never)]
    fn run_long<W: Number>(
        self,
        target: WriteSpan,
        origin: impl Source,
        result: impl Sink,
        exclusion: &impl Exclusion,
    ) {
        self.check_lengths::<W>(target.len(), origin.byte_len(), result.byte_len());
        match target.elements::<W>() {
            Some(elements) => self.choose::<W, _>(Aligned { elements, origin, result }),
            None => self.choose::<W, _>(Unaligned { target, origin, result, exclusion }),
        }
    }

    #[inline]
    fn check_lengths<W: Word>(self, target: usize, origin: usize, result: usize) {
        let is_complete =
            target.is_multiple_of(W::SIZE) && result >= target && (origin >= target || !self.reads_operand());
        assert!(is_complete, "an accumulate's buffers are whole elements of equal number");
    }

    #[inline]
    fn reads_operand(self) -> bool {
        self.op != ReduceOp::NoOp
    }

    /// Runs the work with the function of this operation and type: the one place that knows which that is.
    #[inline]
    fn choose<W: Number, T: Work<W>>(self, work: T) {
        use ReduceOp as O;
        let class = Class::of(self.ty);
        match self.op {
            O::Replace => work.run::<f::Replace>(),
            O::NoOp => work.run::<f::Keep>(),
            O::BitAnd => work.run::<f::And>(),
            O::BitOr => work.run::<f::Or>(),
            O::BitXor => work.run::<f::Xor>(),
            O::LogicalAnd => work.run::<f::LogicalAnd>(),
            O::LogicalOr => work.run::<f::LogicalOr>(),
            O::LogicalXor => work.run::<f::LogicalXor>(),
            O::Sum => match class {
                Class::Unsigned | Class::Signed => work.run::<f::Sum>(),
                Class::Float => work.run::<f::FloatSum>(),
            },
            O::Prod => match class {
                Class::Unsigned | Class::Signed => work.run::<f::Product>(),
                Class::Float => work.run::<f::FloatProduct>(),
            },
            O::Min => match class {
                Class::Unsigned => work.run::<f::Minimum>(),
                Class::Signed => work.run::<f::SignedMinimum>(),
                Class::Float => work.run::<f::FloatMinimum>(),
            },
            O::Max => match class {
                Class::Unsigned => work.run::<f::Maximum>(),
                Class::Signed => work.run::<f::SignedMaximum>(),
                Class::Float => work.run::<f::FloatMaximum>(),
            },
        }
    }
}

/// How the bits of a word are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Unsigned,
    Signed,
    Float,
}

impl Class {
    #[inline]
    fn of(ty: BasicType) -> Self {
        use BasicType as B;
        match ty {
            B::Byte | B::U8 | B::U16 | B::U32 | B::U64 => Self::Unsigned,
            B::I8 | B::I16 | B::I32 | B::I64 => Self::Signed,
            B::F32 | B::F64 => Self::Float,
        }
    }
}

/// What is to be done with a function once it is chosen.
trait Work<W: Word> {
    fn run<F: Function<W>>(self);
}

/// One aligned element.
struct One<W, R> {
    element: Element<W>,
    operand: W,
    result: R,
}

impl<W: Word, R: Sink> Work<W> for One<W, R> {
    #[inline]
    fn run<F: Function<W>>(mut self) {
        update::<W, F, R>(self.element, self.operand, &mut self.result, 0);
    }
}

/// Any number of aligned elements: one hardware step for each. The place where a scheme for long runs, which excludes the
/// small atomics of others and then uses plain code, would be chosen.
struct Aligned<W, S, R> {
    elements: Elements<W>,
    origin: S,
    result: R,
}

impl<W: Word, S: Source, R: Sink> Work<W> for Aligned<W, S, R> {
    #[inline]
    fn run<F: Function<W>>(mut self) {
        for (index, element) in self.elements.iter().enumerate() {
            let offset = index * W::SIZE;
            update::<W, F, R>(element, operand::<W, F>(self.origin, offset), &mut self.result, offset);
        }
    }
}

#[inline]
fn update<W, F, R>(element: Element<W>, operand: W, result: &mut R, offset: usize)
where
    W: Word,
    F: Function<W>,
    R: Sink,
{
    if R::IS_READ {
        result.set_word_at(offset, F::update(element, operand));
    } else {
        F::put(element, operand);
    }
}

/// Any number of unaligned elements, under the exclusion.
struct Unaligned<'a, S, R, E> {
    target: WriteSpan,
    origin: S,
    result: R,
    exclusion: &'a E,
}

impl<W: Word, S: Source, R: Sink, E: Exclusion> Work<W> for Unaligned<'_, S, R, E> {
    fn run<F: Function<W>>(mut self) {
        let len = self.target.len();
        let mut offset = 0;
        while offset < len {
            let end = len.min(offset + UNALIGNED_ELEMENTS_PER_GUARD * W::SIZE);
            let _guard = self.exclusion.exclude();
            while offset < end {
                let before = self.target.as_read().word::<W>(offset);
                let new = F::apply(before, operand::<W, F>(self.origin, offset));
                if new != before {
                    self.target.set_word(offset, new);
                }
                self.result.set_word_at(offset, before);
                offset += W::SIZE;
            }
        }
    }
}

#[inline]
fn operand<W: Word, F: Function<W>>(origin: impl Source, offset: usize) -> W {
    if F::READS_OPERAND { origin.word_at(offset) } else { W::default() }
}

/// Compare-and-swap on a type that may be compared: integers and bytes, not floating point (MPI 3.1 §11.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompareAndSwap {
    ty: BasicType,
}

impl CompareAndSwap {
    /// The operation on this type; `None` when the type is not one of the standard's list.
    #[inline]
    pub const fn new(ty: BasicType) -> Option<Self> {
        if matches!(ty, BasicType::F32 | BasicType::F64) { None } else { Some(Self { ty }) }
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
        compare: impl Source,
        origin: impl Source,
        result: impl Sink,
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

#[inline]
fn compare_and_swap<W: Word>(
    target: WriteSpan,
    compare: impl Source,
    origin: impl Source,
    mut result: impl Sink,
    exclusion: &impl Exclusion,
) {
    assert!(result.byte_len() >= W::SIZE, "no room for the old value");
    let (compare, new) = (compare.word_at::<W>(0), origin.word_at::<W>(0));
    let before = if let Some(element) = target.element::<W>(0) {
        element.compare_exchange(compare, new).unwrap_or_else(|found| found)
    } else {
        let _guard = exclusion.exclude();
        let before = target.as_read().word::<W>(0);
        if before == compare {
            target.set_word(0, new);
        }
        before
    };
    result.set_word_at(0, before);
}
