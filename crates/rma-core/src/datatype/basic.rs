//! Basic types: what an accumulate computes on.
//!
//! One table gives each type its wire code, name and size. Datatypes of the user are layouts over one of these.

use std::fmt;

macro_rules! basic_types {
    ($($name:ident = $code:literal, $text:literal, $size:literal, $doc:literal;)*) => {
        /// A basic type of the target's elements (MPI 3.1 §11.3.4: the type an accumulate's datatypes consist of).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum BasicType {
            $(#[doc = $doc] $name = $code,)*
        }

        impl BasicType {
            /// All basic types.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The type of a wire code; `None` for a code nobody has.
            pub fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Size of one element in bytes.
            pub const fn size(self) -> usize {
                match self {
                    $(Self::$name => $size,)*
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

basic_types! {
    Byte = 0, "byte", 1, "Uninterpreted byte (`MPI_BYTE`).";
    I8 = 1, "i8", 1, "Signed 8-bit integer.";
    U8 = 2, "u8", 1, "Unsigned 8-bit integer.";
    I16 = 3, "i16", 2, "Signed 16-bit integer.";
    U16 = 4, "u16", 2, "Unsigned 16-bit integer.";
    I32 = 5, "i32", 4, "Signed 32-bit integer.";
    U32 = 6, "u32", 4, "Unsigned 32-bit integer.";
    I64 = 7, "i64", 8, "Signed 64-bit integer.";
    U64 = 8, "u64", 8, "Unsigned 64-bit integer.";
    F32 = 9, "f32", 4, "IEEE 754 single precision.";
    F64 = 10, "f64", 8, "IEEE 754 double precision.";
}

impl BasicType {
    /// The code that stands for the type in packets.
    pub fn code(self) -> u8 {
        self as u8
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
}
