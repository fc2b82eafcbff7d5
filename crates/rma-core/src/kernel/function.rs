//! What each operation computes, on the word that an element is, and how it does so in one step.
//!
//! A [`Function`] is a type without values, so that each loop is compiled for its operation and width. Sums, products,
//! logical and bitwise operations and replacement depend on the width alone (two's complement); only minimum, maximum and
//! floating point look at the type.

use crate::mem::{Element, Word};

/// An operation on words.
pub(super) trait Function<W: Word> {
    /// Whether the operand is read at all.
    const READS_OPERAND: bool = true;

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
}

/// An operation that is the same at every width, signed or not.
pub(super) trait WidthFunction: Function<u8> + Function<u16> + Function<u32> + Function<u64> {}
impl<F: Function<u8> + Function<u16> + Function<u32> + Function<u64>> WidthFunction for F {}

pub(super) struct Add;
pub(super) struct Multiply;
pub(super) struct And;
pub(super) struct Or;
pub(super) struct Xor;
pub(super) struct LogicalAnd;
pub(super) struct LogicalOr;
pub(super) struct LogicalXor;
pub(super) struct Replace;
pub(super) struct Keep;
/// The smaller word, as unsigned integers.
pub(super) struct Lower;
/// The larger word, as unsigned integers.
pub(super) struct Upper;
/// The smaller word, as signed integers.
pub(super) struct LowerSigned;
/// The larger word, as signed integers.
pub(super) struct UpperSigned;
pub(super) struct FloatAdd;
pub(super) struct FloatMultiply;
pub(super) struct FloatLower;
pub(super) struct FloatUpper;

macro_rules! integer_functions {
    ($($word:ty, $signed:ty;)*) => {$(
        impl Function<$word> for Add {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                current.wrapping_add(operand)
            }

            #[inline]
            fn update(element: Element<$word>, operand: $word) -> $word {
                element.fetch_add(operand)
            }
        }

        impl Function<$word> for Multiply {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                current.wrapping_mul(operand)
            }
        }

        impl Function<$word> for And {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                current & operand
            }

            #[inline]
            fn update(element: Element<$word>, operand: $word) -> $word {
                element.fetch_and(operand)
            }
        }

        impl Function<$word> for Or {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                current | operand
            }

            #[inline]
            fn update(element: Element<$word>, operand: $word) -> $word {
                element.fetch_or(operand)
            }
        }

        impl Function<$word> for Xor {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                current ^ operand
            }

            #[inline]
            fn update(element: Element<$word>, operand: $word) -> $word {
                element.fetch_xor(operand)
            }
        }

        impl Function<$word> for LogicalAnd {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                <$word>::from(current != 0 && operand != 0)
            }
        }

        impl Function<$word> for LogicalOr {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                <$word>::from(current != 0 || operand != 0)
            }
        }

        impl Function<$word> for LogicalXor {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                <$word>::from((current != 0) != (operand != 0))
            }
        }

        impl Function<$word> for Replace {
            #[inline]
            fn apply(_: $word, operand: $word) -> $word {
                operand
            }

            #[inline]
            fn update(element: Element<$word>, operand: $word) -> $word {
                element.swap(operand)
            }
        }

        impl Function<$word> for Keep {
            const READS_OPERAND: bool = false;

            #[inline]
            fn apply(current: $word, _: $word) -> $word {
                current
            }

            #[inline]
            fn update(element: Element<$word>, _: $word) -> $word {
                element.load()
            }
        }

        impl Function<$word> for Lower {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                current.min(operand)
            }
        }

        impl Function<$word> for Upper {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                current.max(operand)
            }
        }

        impl Function<$word> for LowerSigned {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                (current as $signed).min(operand as $signed) as $word
            }
        }

        impl Function<$word> for UpperSigned {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                (current as $signed).max(operand as $signed) as $word
            }
        }
    )*};
}

integer_functions! {
    u8, i8;
    u16, i16;
    u32, i32;
    u64, i64;
}

macro_rules! float_functions {
    ($($word:ty, $float:ty;)*) => {$(
        impl Function<$word> for FloatAdd {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                (<$float>::from_bits(current) + <$float>::from_bits(operand)).to_bits()
            }
        }

        impl Function<$word> for FloatMultiply {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                (<$float>::from_bits(current) * <$float>::from_bits(operand)).to_bits()
            }
        }

        // The standard leaves NaN and signed zeros open. Here the result does not depend on the order in which values
        // arrive, unless all of them are NaN: a number wins over a NaN, and equal numbers differ at most in the sign
        // of zero, which "or" makes negative and "and" makes positive.
        impl Function<$word> for FloatLower {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                let (a, b) = (<$float>::from_bits(current), <$float>::from_bits(operand));
                if a == b {
                    current | operand
                } else if a < b || b.is_nan() {
                    current
                } else {
                    operand
                }
            }
        }

        impl Function<$word> for FloatUpper {
            #[inline]
            fn apply(current: $word, operand: $word) -> $word {
                let (a, b) = (<$float>::from_bits(current), <$float>::from_bits(operand));
                if a == b {
                    current & operand
                } else if a > b || b.is_nan() {
                    current
                } else {
                    operand
                }
            }
        }
    )*};
}

float_functions! {
    u32, f32;
    u64, f64;
}
