//! Applying operations: from (operation, type) to one function over one width, for one element or a run of them.
//!
//! What keeps an element's fetch and update one step against every other kernel is in [`super::exclusion`].

use super::exclusion::Exclusion;
use super::function::{Function, Number};
use super::long::Aligned;
use super::op::ReduceOp;
use super::operand::{Nowhere, OperandSource, ResultSink};
use super::wide::{self, WideRun};
use crate::datatype::{BasicType, TypeClass};
use crate::mem::{Element, Word, WriteSpan};

/// Elements changed under one guard, so that a long transfer lets others in.
const ELEMENTS_PER_GUARD: usize = 64;

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
    pub fn accumulate(self, target: WriteSpan, origin: impl OperandSource, exclusion: &impl Exclusion) {
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
        origin: impl OperandSource,
        result: impl ResultSink,
        exclusion: &impl Exclusion,
    ) {
        self.run(target, origin, result, exclusion);
    }

    #[inline]
    fn run(
        self,
        target: WriteSpan,
        origin: impl OperandSource,
        result: impl ResultSink,
        exclusion: &impl Exclusion,
    ) {
        match self.ty.word_size() {
            1 => self.run_width::<u8>(target, origin, result, exclusion),
            2 => self.run_width::<u16>(target, origin, result, exclusion),
            4 => self.run_width::<u32>(target, origin, result, exclusion),
            8 => self.run_width::<u64>(target, origin, result, exclusion),
            _ => self.run_wide(target, origin, result, exclusion),
        }
    }

    /// Combines each element of `inout`, which only the caller can see, with the element of `operand` at the
    /// same position, as the steps of a collective do. Pairs with holes lie without them here, as in a
    /// message.
    ///
    /// # Panics
    /// When the two are not whole elements of equal number.
    pub fn combine(self, inout: &mut [u8], operand: &[u8]) {
        let is_whole = inout.len() == operand.len() && inout.len().is_multiple_of(self.ty.size());
        assert!(is_whole, "{} and {} bytes of {}", inout.len(), operand.len(), self.ty);
        match self.ty.word_size() {
            1 => self.choose::<u8, _>(Private { inout, operand }),
            2 => self.choose::<u16, _>(Private { inout, operand }),
            4 => self.choose::<u32, _>(Private { inout, operand }),
            8 => self.choose::<u64, _>(Private { inout, operand }),
            _ => wide::combine(self.op, self.ty, inout, operand),
        }
    }

    /// Elements that are not one word: never one step of the processor, so always under the exclusion.
    #[inline(never)]
    fn run_wide(
        self,
        target: WriteSpan,
        origin: impl OperandSource,
        result: impl ResultSink,
        exclusion: &impl Exclusion,
    ) {
        self.check_lengths(self.ty.divides(target.len()), target.len(), origin.byte_len(), result.byte_len());
        WideRun { op: self.op, ty: self.ty, target, origin, result, exclusion }.run();
    }

    #[inline]
    fn run_width<W: Number>(
        self,
        target: WriteSpan,
        origin: impl OperandSource,
        result: impl ResultSink,
        exclusion: &impl Exclusion,
    ) {
        let len = target.len();
        if len == W::SIZE
            && let Some(element) = target.element::<W>(0)
        {
            self.check_lengths(true, len, origin.byte_len(), result.byte_len());
            let operand = if self.reads_operand() { origin.word_at(0) } else { W::default() };
            let _entry = exclusion.enter(target);
            self.choose::<W, _>(One { element, operand, result });
        } else {
            self.run_long::<W>(target, origin, result, exclusion);
        }
    }

    #[inline(never)]
    fn run_long<W: Number>(
        self,
        target: WriteSpan,
        origin: impl OperandSource,
        result: impl ResultSink,
        exclusion: &impl Exclusion,
    ) {
        let is_whole = target.len().is_multiple_of(W::SIZE);
        self.check_lengths(is_whole, target.len(), origin.byte_len(), result.byte_len());
        match target.elements::<W>() {
            Some(_) => self.choose::<W, _>(Aligned { target, origin, result, exclusion }),
            None => self.choose::<W, _>(Unaligned { target, origin, result, exclusion }),
        }
    }

    #[inline]
    fn check_lengths(self, is_whole: bool, target: usize, origin: usize, result: usize) {
        let is_complete = is_whole && result >= target && (origin >= target || !self.reads_operand());
        assert!(is_complete, "an accumulate's buffers are whole elements of equal number");
    }

    /// Whether the origin's elements are read at all, and the target's are changed.
    #[inline]
    pub(crate) fn reads_operand(self) -> bool {
        self.op != ReduceOp::NoOp
    }

    /// Runs the work with the function of this operation and type.
    #[inline]
    pub(super) fn choose<W: Number, T: Work<W>>(self, work: T) {
        with_function!(self.op, Class::of(self.ty), Chosen, work.run::<Chosen>());
    }
}

/// An expression with `$chosen` as the function of an operation on words of a class: the one place that knows which that is.
macro_rules! with_function {
    ($op:expr, $class:expr, $chosen:ident, $value:expr) => {{
        use $crate::kernel::{Class as C, ReduceOp as O, function as f};
        $crate::kernel::with_function! {
            @arms $op, $class, $chosen, $value;
            O::Replace => f::Replace,
            O::NoOp => f::Keep,
            O::BitAnd => f::And,
            O::BitOr => f::Or,
            O::BitXor => f::Xor,
            O::LogicalAnd => f::LogicalAnd,
            O::LogicalOr => f::LogicalOr,
            O::LogicalXor => f::LogicalXor;
            O::Sum => f::Sum, f::Sum, f::FloatSum,
            O::Prod => f::Product, f::Product, f::FloatProduct,
            O::Min => f::Minimum, f::SignedMinimum, f::FloatMinimum,
            O::Max => f::Maximum, f::SignedMaximum, f::FloatMaximum,
        }
    }};
    (
        @arms $op:expr, $class:expr, $chosen:ident, $value:expr;
        $($of_any:pat => $function:ty),*;
        $($of_class:pat => $unsigned:ty, $signed:ty, $float:ty,)*
    ) => {
        match $op {
            $($of_any => {
                type $chosen = $function;
                $value
            })*
            $($of_class => match $class {
                C::Unsigned => {
                    type $chosen = $unsigned;
                    $value
                }
                C::Signed => {
                    type $chosen = $signed;
                    $value
                }
                C::Float => {
                    type $chosen = $float;
                    $value
                }
            },)*
            O::MinLoc | O::MaxLoc => panic!("defined on pairs, which are no words"),
        }
    };
}
pub(crate) use with_function;

/// How the bits of a word are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Unsigned,
    Signed,
    Float,
}

impl Class {
    #[inline]
    pub(crate) const fn of(ty: BasicType) -> Self {
        match ty.class() {
            TypeClass::Signed => Self::Signed,
            TypeClass::Float => Self::Float,
            // Complex numbers and pairs are no words; on the others it depends on the width alone.
            TypeClass::Unsigned
            | TypeClass::Logical
            | TypeClass::Byte
            | TypeClass::Character
            | TypeClass::Complex
            | TypeClass::Pair => Self::Unsigned,
        }
    }
}

/// What is to be done with a function once it is chosen.
pub(super) trait Work<W: Word> {
    fn run<F: Function<W>>(self);
}

/// One aligned element.
struct One<W, R> {
    element: Element<W>,
    operand: W,
    result: R,
}

impl<W: Word, R: ResultSink> Work<W> for One<W, R> {
    #[inline]
    fn run<F: Function<W>>(mut self) {
        update::<W, F, R>(self.element, self.operand, &mut self.result, 0);
    }
}

/// Any number of elements that only the caller can see.
struct Private<'a> {
    inout: &'a mut [u8],
    operand: &'a [u8],
}

impl<W: Word> Work<W> for Private<'_> {
    fn run<F: Function<W>>(self) {
        combine_words::<W, F>(self.inout, self.operand);
    }
}

/// Plain code for words in private memory; the compiler makes vector code of it.
#[inline]
pub(super) fn combine_words<W: Word, F: Function<W>>(inout: &mut [u8], operand: &[u8]) {
    for (inout, operand) in inout.chunks_exact_mut(W::SIZE).zip(operand.chunks_exact(W::SIZE)) {
        F::apply(W::from_bytes(inout), W::from_bytes(operand)).to_bytes(inout);
    }
}

#[inline]
pub(super) fn update<W, F, R>(element: Element<W>, operand: W, result: &mut R, offset: usize)
where
    W: Word,
    F: Function<W>,
    R: ResultSink,
{
    if R::IS_READ {
        result.set_word_at(offset, F::update(element, operand));
    } else {
        F::put(element, operand);
    }
}

/// As [`update`], while no other thread changes the element.
#[inline]
pub(super) fn rewrite<W, F, R>(element: Element<W>, operand: W, result: &mut R, offset: usize)
where
    W: Word,
    F: Function<W>,
    R: ResultSink,
{
    let before = element.load();
    if R::IS_READ {
        result.set_word_at(offset, before);
    }
    if F::READS_OPERAND {
        element.store(F::apply(before, operand));
    }
}

/// Any number of unaligned elements, under the exclusion.
struct Unaligned<'a, S, R, E> {
    target: WriteSpan,
    origin: S,
    result: R,
    exclusion: &'a E,
}

impl<W: Word, S: OperandSource, R: ResultSink, E: Exclusion> Work<W> for Unaligned<'_, S, R, E> {
    fn run<F: Function<W>>(mut self) {
        let len = self.target.len();
        let mut offset = 0;
        while offset < len {
            let end = len.min(offset + ELEMENTS_PER_GUARD * W::SIZE);
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
pub(super) fn operand<W: Word, F: Function<W>>(origin: impl OperandSource, offset: usize) -> W {
    if F::READS_OPERAND { origin.word_at(offset) } else { W::default() }
}
