//! Applying operations: from (operation, type) to the loop of one function over one width, and the loop itself.
//!
//! Invariant: an element's fetch and update are one step against every other kernel on the same memory. Naturally aligned
//! elements use element atomics; the others are changed under the [`Exclusion`] the caller brings. The two never meet on
//! one element: all processes see an address with the same offset in its page, and overlapping elements that are not the
//! same element have no defined outcome (MPI 3.1 §11.7.1).

use super::function::{self as f, Function, WidthFunction};
use super::op::ReduceOp;
use super::operand::{Nowhere, Sink, Source};
use crate::datatype::BasicType;
use crate::mem::{Elements, ReadSpan, Word, WriteSpan};

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
        use ReduceOp as O;
        let job = Job { target, origin, result, exclusion };
        match self.op {
            O::Replace => job.by_width::<f::Replace>(self.ty),
            O::NoOp => job.by_width::<f::Keep>(self.ty),
            O::BitAnd => job.by_width::<f::And>(self.ty),
            O::BitOr => job.by_width::<f::Or>(self.ty),
            O::BitXor => job.by_width::<f::Xor>(self.ty),
            O::LogicalAnd => job.by_width::<f::LogicalAnd>(self.ty),
            O::LogicalOr => job.by_width::<f::LogicalOr>(self.ty),
            O::LogicalXor => job.by_width::<f::LogicalXor>(self.ty),
            O::Sum => job.by_number::<f::Add, f::Add, f::FloatAdd>(self.ty),
            O::Prod => job.by_number::<f::Multiply, f::Multiply, f::FloatMultiply>(self.ty),
            O::Min => job.by_number::<f::Lower, f::LowerSigned, f::FloatLower>(self.ty),
            O::Max => job.by_number::<f::Upper, f::UpperSigned, f::FloatUpper>(self.ty),
        }
    }
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

/// What one call works on, before its function and width are chosen.
struct Job<'a, S, R, E> {
    target: WriteSpan,
    origin: S,
    result: R,
    exclusion: &'a E,
}

impl<S: Source, R: Sink, E: Exclusion> Job<'_, S, R, E> {
    #[inline]
    fn by_width<F: WidthFunction>(self, ty: BasicType) {
        match ty.size() {
            1 => self.apply::<u8, F>(),
            2 => self.apply::<u16, F>(),
            4 => self.apply::<u32, F>(),
            _ => self.apply::<u64, F>(),
        }
    }

    /// `U` on unsigned integers, `I` on signed ones, `Float` on floating point.
    #[inline]
    fn by_number<U: WidthFunction, I: WidthFunction, Float: Function<u32> + Function<u64>>(
        self,
        ty: BasicType,
    ) {
        match ty {
            BasicType::F32 => self.apply::<u32, Float>(),
            BasicType::F64 => self.apply::<u64, Float>(),
            BasicType::I8 | BasicType::I16 | BasicType::I32 | BasicType::I64 => self.by_width::<I>(ty),
            BasicType::Byte | BasicType::U8 | BasicType::U16 | BasicType::U32 | BasicType::U64 => {
                self.by_width::<U>(ty);
            }
        }
    }

    #[inline]
    fn apply<W: Word, F: Function<W>>(self) {
        let len = self.target.len();
        let is_complete = len.is_multiple_of(W::SIZE)
            && self.result.byte_len() >= len
            && (!F::READS_OPERAND || self.origin.byte_len() >= len);
        assert!(is_complete, "an accumulate's buffers are whole elements of equal number");
        match self.target.elements::<W>() {
            Some(elements) => self.apply_aligned::<W, F>(elements),
            None => self.apply_unaligned::<W, F>(),
        }
    }

    /// One hardware step per element. The place where a scheme for long runs, which excludes the small atomics of others
    /// and then uses plain code, would be chosen.
    #[inline]
    fn apply_aligned<W: Word, F: Function<W>>(mut self, elements: Elements<W>) {
        for (index, element) in elements.iter().enumerate() {
            let offset = index * W::SIZE;
            let before = F::update(element, self.operand::<W, F>(offset));
            self.result.set_word_at(offset, before);
        }
    }

    #[cold]
    fn apply_unaligned<W: Word, F: Function<W>>(mut self) {
        let target: ReadSpan = self.target.as_read();
        let mut offset = 0;
        while offset < target.len() {
            let end = target.len().min(offset + UNALIGNED_ELEMENTS_PER_GUARD * W::SIZE);
            let _guard = self.exclusion.exclude();
            while offset < end {
                let before = target.word::<W>(offset);
                let new = F::apply(before, self.operand::<W, F>(offset));
                if new != before {
                    self.target.set_word(offset, new);
                }
                self.result.set_word_at(offset, before);
                offset += W::SIZE;
            }
        }
    }

    #[inline]
    fn operand<W: Word, F: Function<W>>(&self, offset: usize) -> W {
        if F::READS_OPERAND { self.origin.word_at(offset) } else { W::default() }
    }
}
