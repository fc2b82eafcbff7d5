//! Basic types: what an accumulate computes on, and what every datatype consists of.
//!
//! One table gives each type its wire code, name, class, and how it lies in memory under the C ABI of 64-bit Linux.
//! Several predefined datatypes of MPI are one basic type (`MPI_INT`, `MPI_INT32_T` and `MPI_INTEGER` are [`BasicType::I32`]):
//! the engine knows machine types, and their names belong to the library above.
//!
//! A pair type is a C structure and may have holes. Holes are not part of it: [`BasicType::size`] bytes are data, at
//! [`BasicType::extent`] bytes from one element to the next.

use std::fmt;

/// What kind of values a type has; decides which reduce operations are defined on it (MPI 5.0 §6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeClass {
    /// Signed integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// Floating point.
    Float,
    /// Complex floating point: real part, then imaginary part.
    Complex,
    /// Truth values: zero is false.
    Logical,
    /// Uninterpreted bits.
    Byte,
    /// Characters: values that nothing can be computed of.
    Character,
    /// A value and its location, the operands of `MPI_MINLOC` and `MPI_MAXLOC`.
    Pair,
}

macro_rules! basic_types {
    ($(
        $name:ident = $code:literal, $text:literal, $class:ident,
        $size:literal / $extent:literal / $align:literal, $doc:literal;
    )*) => {
        /// A basic type of the target's elements (MPI 3.1 §11.3.4: the type an accumulate's datatypes consist of).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum BasicType {
            $(#[doc = $doc] $name = $code,)*
        }

        impl BasicType {
            /// All basic types.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The type of a wire code; `None` for an unused code.
            pub fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Bytes of data in one element (`MPI_Type_size`).
            #[inline]
            pub const fn size(self) -> usize {
                match self {
                    $(Self::$name => $size,)*
                }
            }

            /// Bytes from one element to the next in an array.
            #[inline]
            pub const fn extent(self) -> usize {
                match self {
                    $(Self::$name => $extent,)*
                }
            }

            /// Alignment that the C compiler gives the type.
            pub const fn align(self) -> usize {
                match self {
                    $(Self::$name => $align,)*
                }
            }

            /// What kind of values the type has.
            #[inline]
            pub const fn class(self) -> TypeClass {
                match self {
                    $(Self::$name => TypeClass::$class,)*
                }
            }

            /// The name in messages.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

// Columns: wire code, name in messages, class, size / extent / alignment.
basic_types! {
    Byte = 0, "byte", Byte, 1/1/1, "Uninterpreted byte (`MPI_BYTE`).";
    I8 = 1, "i8", Signed, 1/1/1, "Signed 8-bit integer.";
    U8 = 2, "u8", Unsigned, 1/1/1, "Unsigned 8-bit integer.";
    I16 = 3, "i16", Signed, 2/2/2, "Signed 16-bit integer.";
    U16 = 4, "u16", Unsigned, 2/2/2, "Unsigned 16-bit integer.";
    I32 = 5, "i32", Signed, 4/4/4, "Signed 32-bit integer.";
    U32 = 6, "u32", Unsigned, 4/4/4, "Unsigned 32-bit integer.";
    I64 = 7, "i64", Signed, 8/8/8, "Signed 64-bit integer.";
    U64 = 8, "u64", Unsigned, 8/8/8, "Unsigned 64-bit integer.";
    F32 = 9, "f32", Float, 4/4/4, "IEEE 754 single precision.";
    F64 = 10, "f64", Float, 8/8/8, "IEEE 754 double precision.";
    Char = 11, "char", Character, 1/1/1, "Character of one byte (`MPI_CHAR`, `MPI_CHARACTER`; `MPI_PACKED` as well).";
    WChar = 12, "wchar", Character, 4/4/4, "Wide character (`MPI_WCHAR`).";
    Logical8 = 13, "logical8", Logical, 1/1/1, "Truth value of one byte (C and C++ `bool`, `LOGICAL*1`).";
    Logical16 = 14, "logical16", Logical, 2/2/2, "Truth value of two bytes (`LOGICAL*2`).";
    Logical32 = 15, "logical32", Logical, 4/4/4, "Truth value of four bytes (`LOGICAL`, `LOGICAL*4`).";
    Logical64 = 16, "logical64", Logical, 8/8/8, "Truth value of eight bytes (`LOGICAL*8`).";
    F80 = 17, "long double", Float, 16/16/16, "C `long double` in 16 bytes: extended precision of the x87, or IEEE quadruple precision.";
    ComplexF32 = 18, "complex f32", Complex, 8/8/4, "Complex number of two single precision parts.";
    ComplexF64 = 19, "complex f64", Complex, 16/16/8, "Complex number of two double precision parts.";
    ComplexF80 = 20, "complex long double", Complex, 32/32/16, "Complex number of two `long double` parts.";
    FloatInt = 21, "(f32, i32)", Pair, 8/8/4, "`MPI_FLOAT_INT`.";
    DoubleInt = 22, "(f64, i32)", Pair, 12/16/8, "`MPI_DOUBLE_INT`.";
    LongInt = 23, "(i64, i32)", Pair, 12/16/8, "`MPI_LONG_INT`.";
    IntInt = 24, "(i32, i32)", Pair, 8/8/4, "`MPI_2INT`, `MPI_2INTEGER`.";
    ShortInt = 25, "(i16, i32)", Pair, 6/8/4, "`MPI_SHORT_INT`.";
    LongDoubleInt = 26, "(long double, i32)", Pair, 20/32/16, "`MPI_LONG_DOUBLE_INT`.";
    FloatFloat = 27, "(f32, f32)", Pair, 8/8/4, "`MPI_2REAL`.";
    DoubleDouble = 28, "(f64, f64)", Pair, 16/16/8, "`MPI_2DOUBLE_PRECISION`.";
}

impl BasicType {
    /// The most data bytes that an element of any type has.
    pub const MAX_SIZE: usize = 32;

    /// The code that stands for the type in packets.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Whether an element is one word that the processor changes in one step where it is aligned: no complex number, no
    /// pair, at most 8 bytes.
    #[inline]
    pub const fn is_word(self) -> bool {
        self.size() <= 8 && !matches!(self.class(), TypeClass::Complex | TypeClass::Pair)
    }

    /// Bytes of an element that is one word ([`BasicType::is_word`]); 0 for other types.
    #[inline]
    pub(crate) const fn word_size(self) -> usize {
        // A table, so that the hottest question about a type is one load.
        const SIZES: [u8; BasicType::ALL.len()] = {
            let mut sizes = [0; BasicType::ALL.len()];
            let mut at = 0;
            while at < sizes.len() {
                let ty = BasicType::ALL[at];
                assert!(ty as usize == at, "codes count from zero");
                if ty.is_word() {
                    sizes[at] = ty.size() as u8;
                }
                at += 1;
            }
            sizes
        };
        SIZES[self as usize] as usize
    }

    /// Whether so many bytes are whole elements.
    #[inline]
    pub(crate) const fn divides(self, len: usize) -> bool {
        // Words, and most others, have sizes that are powers of two, which spares the division.
        match self.word_size() {
            0 if self.size().is_power_of_two() => len & (self.size() - 1) == 0,
            0 => len.is_multiple_of(self.size()),
            word => len & (word - 1) == 0,
        }
    }

    /// Whether elements lie without holes, so that a number of them is a run of bytes.
    #[inline]
    pub const fn is_dense(self) -> bool {
        self.size() == self.extent()
    }

    /// Where an element's data bytes are: offset and length of one or two runs, in order.
    pub(crate) const fn parts(self) -> &'static [(i64, u64)] {
        match self {
            Self::ShortInt => &[(0, 2), (4, 4)],
            Self::DoubleInt | Self::LongInt => &[(0, 12)],
            Self::LongDoubleInt => &[(0, 20)],
            _ => match self.size() {
                1 => &[(0, 1)],
                2 => &[(0, 2)],
                4 => &[(0, 4)],
                8 => &[(0, 8)],
                16 => &[(0, 16)],
                _ => &[(0, 32)],
            },
        }
    }
}

impl fmt::Display for BasicType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_a_bijection() {
        let known = (0..=u8::MAX).filter_map(BasicType::from_code).collect::<Vec<_>>();
        assert_eq!(known, BasicType::ALL);
        assert!(known.iter().all(|t| BasicType::from_code(t.code()) == Some(*t)));
    }

    #[test]
    fn parts_are_the_data_bytes_within_the_extent() {
        for ty in BasicType::ALL {
            let parts = ty.parts();
            assert_eq!(parts.iter().map(|(_, len)| *len).sum::<u64>(), ty.size() as u64, "{ty}");
            let end = parts.iter().map(|(at, len)| at + *len as i64).max().unwrap();
            assert!(end <= ty.extent() as i64 && ty.size() <= BasicType::MAX_SIZE, "{ty}");
            assert_eq!((end as usize).next_multiple_of(ty.align()), ty.extent(), "{ty}");
            assert!(!ty.is_word() || (ty.is_dense() && ty.size() == ty.align()), "{ty}");
            for len in 0..100 {
                assert_eq!(ty.divides(len), len % ty.size() == 0, "{len} bytes of {ty}");
            }
        }
    }

    #[test]
    fn pairs_lie_as_the_c_compiler_lays_them() {
        #[repr(C)]
        struct Pair<V, L>(V, L);
        let of = |ty: BasicType| (ty.extent(), ty.align());
        fn c<V, L>() -> (usize, usize) {
            (size_of::<Pair<V, L>>(), align_of::<Pair<V, L>>())
        }
        assert_eq!(of(BasicType::FloatInt), c::<f32, i32>());
        assert_eq!(of(BasicType::DoubleInt), c::<f64, i32>());
        assert_eq!(of(BasicType::LongInt), c::<i64, i32>());
        assert_eq!(of(BasicType::IntInt), c::<i32, i32>());
        assert_eq!(of(BasicType::ShortInt), c::<i16, i32>());
        assert_eq!(of(BasicType::FloatFloat), c::<f32, f32>());
        assert_eq!(of(BasicType::DoubleDouble), c::<f64, f64>());
        #[repr(C, align(16))]
        struct LongDouble([u8; 16]);
        assert_eq!(of(BasicType::LongDoubleInt), c::<LongDouble, i32>());
        assert_eq!(of(BasicType::ComplexF80), c::<LongDouble, LongDouble>());
    }
}
