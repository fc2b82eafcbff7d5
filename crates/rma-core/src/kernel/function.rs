//! What each operation computes, on the word that an element is, and how it does so in one step.
//!
//! A [`Function`] is a type without values, so that each loop is compiled for its operation and width. Sums, products,
//! logical and bitwise operations and replacement depend on the width alone (two's complement); only minimum, maximum and
//! floating point look at the type.

use crate::mem::{Element, Fold, LaneType, Word};
use std::ops::{BitAnd, BitOr, BitXor};

/// An operation on words.
pub(crate) trait Function<W: Word> {
    /// Whether the operand is read at all.
    const READS_OPERAND: bool = true;
    /// Whether the operand becomes the new value.
    const IS_COPY: bool = false;

    /// The same on many words at once, where processors have that.
    const FOLD: Option<Fold> = None;

    /// The new value of an element.
    fn apply(current: W, operand: W) -> W;

    /// Updates an element in one atomic step; answers the value before. An update that changes no bit may be just an
    /// atomic load.
    #[inline]
    fn update(element: Element<W>, operand: W) -> W {
        element.fetch_update(|current| {
            let new = Self::apply(current, operand);
            (new != current).then_some(new)
        })
    }

    /// Updates an element in one atomic step, when the old value is not wanted.
    #[inline]
    fn put(element: Element<W>, operand: W) {
        Self::update(element, operand);
    }
}

/// A word as the numbers it can be.
pub(crate) trait Number:
    Word + Ord + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    fn truth(value: bool) -> Self;
    fn is_true(self) -> bool;
    fn is_below_signed(self, other: Self) -> bool;
    fn float_sum(self, other: Self) -> Self;
    fn float_product(self, other: Self) -> Self;
    fn float_minimum(self, other: Self) -> Self;
    fn float_maximum(self, other: Self) -> Self;
}

macro_rules! functions {
    ($(
        $name:ident($current:ident, $operand:ident) = $value:expr
        $(, in hardware by $step:ident)? $(, many by $fold:expr)?;
    )*) => {$(
        pub(crate) struct $name;

        impl<W: Number> Function<W> for $name {
            $(const FOLD: Option<Fold> = Some($fold);)?

            #[inline]
            fn apply($current: W, $operand: W) -> W {
                $value
            }

            $(
                #[inline]
                fn update(element: Element<W>, operand: W) -> W {
                    element.$step(operand)
                }
            )?
        }
    )*};
}

functions! {
    Sum(current, operand) = current.sum(operand),
        in hardware by fetch_add, many by Fold::Add(unsigned(W::SIZE));
    Product(current, operand) = current.product(operand), many by Fold::Multiply(unsigned(W::SIZE));
    Minimum(current, operand) = current.min(operand), many by Fold::Minimum(unsigned(W::SIZE));
    Maximum(current, operand) = current.max(operand), many by Fold::Maximum(unsigned(W::SIZE));
    SignedMinimum(current, operand) = if operand.is_below_signed(current) { operand } else { current },
        many by Fold::Minimum(signed(W::SIZE));
    SignedMaximum(current, operand) = if current.is_below_signed(operand) { operand } else { current },
        many by Fold::Maximum(signed(W::SIZE));
    FloatSum(current, operand) = current.float_sum(operand), many by Fold::Add(float(W::SIZE));
    FloatProduct(current, operand) = current.float_product(operand), many by Fold::Multiply(float(W::SIZE));
    FloatMinimum(current, operand) = current.float_minimum(operand), many by Fold::Minimum(float(W::SIZE));
    FloatMaximum(current, operand) = current.float_maximum(operand), many by Fold::Maximum(float(W::SIZE));
    LogicalAnd(current, operand) = W::truth(current.is_true() && operand.is_true());
    LogicalOr(current, operand) = W::truth(current.is_true() || operand.is_true());
    LogicalXor(current, operand) = W::truth(current.is_true() != operand.is_true());
    And(current, operand) = current & operand, in hardware by fetch_and, many by Fold::And;
    Or(current, operand) = current | operand, in hardware by fetch_or, many by Fold::Or;
    Xor(current, operand) = current ^ operand, in hardware by fetch_xor, many by Fold::Xor;
}

const fn unsigned(size: usize) -> LaneType {
    match size {
        1 => LaneType::U8,
        2 => LaneType::U16,
        4 => LaneType::U32,
        _ => LaneType::U64,
    }
}

const fn signed(size: usize) -> LaneType {
    match size {
        1 => LaneType::I8,
        2 => LaneType::I16,
        4 => LaneType::I32,
        _ => LaneType::I64,
    }
}

/// Of widths without floating point the functions are never chosen.
const fn float(size: usize) -> LaneType {
    if size == 8 { LaneType::F64 } else { LaneType::F32 }
}

/// `REPLACE`: an exchange, or a store when the old value is not wanted.
pub(crate) struct Replace;

impl<W: Word> Function<W> for Replace {
    const IS_COPY: bool = true;

    #[inline]
    fn apply(_: W, operand: W) -> W {
        operand
    }

    #[inline]
    fn update(element: Element<W>, operand: W) -> W {
        element.swap(operand)
    }

    #[inline]
    fn put(element: Element<W>, operand: W) {
        element.store(operand);
    }
}

/// `NO_OP`: an atomic load.
pub(crate) struct Keep;

impl<W: Word> Function<W> for Keep {
    const READS_OPERAND: bool = false;

    #[inline]
    fn apply(current: W, _: W) -> W {
        current
    }

    #[inline]
    fn update(element: Element<W>, _: W) -> W {
        element.load()
    }
}

macro_rules! integers {
    ($word:ty, $signed:ty) => {
        #[inline]
        fn sum(self, other: Self) -> Self {
            self.wrapping_add(other)
        }

        #[inline]
        fn product(self, other: Self) -> Self {
            self.wrapping_mul(other)
        }

        #[inline]
        fn truth(value: bool) -> Self {
            value.into()
        }

        #[inline]
        fn is_true(self) -> bool {
            self != 0
        }

        #[inline]
        fn is_below_signed(self, other: Self) -> bool {
            (self as $signed) < (other as $signed)
        }
    };
}

macro_rules! numbers_with_floats {
    ($($word:ty, $signed:ty, $float:ty;)*) => {$(
        impl Number for $word {
            integers!($word, $signed);

            #[inline]
            fn float_sum(self, other: Self) -> Self {
                (<$float>::from_bits(self) + <$float>::from_bits(other)).to_bits()
            }

            #[inline]
            fn float_product(self, other: Self) -> Self {
                (<$float>::from_bits(self) * <$float>::from_bits(other)).to_bits()
            }

            // The standard leaves NaN and signed zeros open. Here the result does not depend on the order in which
            // values arrive, unless all of them are NaN: a number wins over a NaN, and equal numbers differ at most in
            // the sign of zero, which "or" makes negative and "and" makes positive.
            #[inline]
            fn float_minimum(self, other: Self) -> Self {
                let (a, b) = (<$float>::from_bits(self), <$float>::from_bits(other));
                if a == b {
                    self | other
                } else if a < b || b.is_nan() {
                    self
                } else {
                    other
                }
            }

            #[inline]
            fn float_maximum(self, other: Self) -> Self {
                let (a, b) = (<$float>::from_bits(self), <$float>::from_bits(other));
                if a == b {
                    self & other
                } else if a > b || b.is_nan() {
                    self
                } else {
                    other
                }
            }
        }
    )*};
}

macro_rules! numbers_without_floats {
    ($($word:ty, $signed:ty;)*) => {$(
        // No basic type of this width is floating point, so the float functions are never chosen.
        impl Number for $word {
            integers!($word, $signed);

            #[inline]
            fn float_sum(self, _: Self) -> Self {
                self
            }

            #[inline]
            fn float_product(self, _: Self) -> Self {
                self
            }

            #[inline]
            fn float_minimum(self, _: Self) -> Self {
                self
            }

            #[inline]
            fn float_maximum(self, _: Self) -> Self {
                self
            }
        }
    )*};
}

numbers_without_floats! {
    u8, i8;
    u16, i16;
}

numbers_with_floats! {
    u32, i32, f32;
    u64, i64, f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold<W: Number, F: Function<W>>(_: F) -> Option<Fold> {
        F::FOLD
    }

    #[test]
    fn extremes_and_products_are_done_on_many_words_at_once() {
        assert_eq!(fold::<u8, _>(Product), Some(Fold::Multiply(LaneType::U8)));
        assert_eq!(fold::<u64, _>(FloatProduct), Some(Fold::Multiply(LaneType::F64)));
        assert_eq!(fold::<u16, _>(Minimum), Some(Fold::Minimum(LaneType::U16)));
        assert_eq!(fold::<u64, _>(Maximum), Some(Fold::Maximum(LaneType::U64)));
        assert_eq!(fold::<u32, _>(SignedMinimum), Some(Fold::Minimum(LaneType::I32)));
        assert_eq!(fold::<u64, _>(SignedMaximum), Some(Fold::Maximum(LaneType::I64)));
        assert_eq!(fold::<u32, _>(FloatMinimum), Some(Fold::Minimum(LaneType::F32)));
        assert_eq!(fold::<u64, _>(FloatMaximum), Some(Fold::Maximum(LaneType::F64)));
    }
}
