//! The reduce operations, and on which types each is defined.
//!
//! One table gives each operation its wire code, name and operand types.

use crate::datatype::{BasicType, TypeClass};
use std::fmt;

/// On which types an operation is defined (MPI 5.0 §6.9.2 and §6.9.4, and MPI 3.1 §11.3.4 for `REPLACE` and `NO_OP`).
///
/// The standard has logical operations on C integers, not on Fortran integers; the engine does not know which
/// these are and takes both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperandTypes {
    /// Integers and floating point, complex too.
    Numbers,
    /// Integers and floating point.
    Ordered,
    /// Truth values, and integers, read as false when zero.
    Logical,
    /// Integers and bytes.
    Bits,
    /// Values with a location.
    Located,
    /// All types.
    Any,
}

macro_rules! reduce_ops {
    ($($name:ident = $code:literal, $text:literal, $types:ident, $doc:literal;)*) => {
        /// An operation of accumulate, get-accumulate and fetch-and-op.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum ReduceOp {
            $(#[doc = $doc] $name = $code,)*
        }

        impl ReduceOp {
            /// All operations.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The operation of a wire code; `None` for an unused code.
            pub fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The constant's name in the standard.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            const fn operand_types(self) -> OperandTypes {
                match self {
                    $(Self::$name => OperandTypes::$types,)*
                }
            }
        }
    };
}

reduce_ops! {
    Sum = 1, "MPI_SUM", Numbers, "Sum. Integers wrap.";
    Prod = 2, "MPI_PROD", Numbers, "Product. Integers wrap.";
    Min = 3, "MPI_MIN", Ordered, "Smaller value. A number wins over a NaN; -0 is below +0.";
    Max = 4, "MPI_MAX", Ordered, "Larger value. A number wins over a NaN; +0 is above -0.";
    LogicalAnd = 5, "MPI_LAND", Logical, "1 if both are not 0, else 0.";
    LogicalOr = 6, "MPI_LOR", Logical, "1 if one is not 0, else 0.";
    LogicalXor = 7, "MPI_LXOR", Logical, "1 if exactly one is not 0, else 0.";
    BitAnd = 8, "MPI_BAND", Bits, "Bitwise and.";
    BitOr = 9, "MPI_BOR", Bits, "Bitwise or.";
    BitXor = 10, "MPI_BXOR", Bits, "Bitwise exclusive or.";
    Replace = 11, "MPI_REPLACE", Any, "The origin's value.";
    NoOp = 12, "MPI_NO_OP", Any, "The target's value, unchanged; the origin's is not read.";
    MinLoc = 13, "MPI_MINLOC", Located, "The pair with the smaller value; of equal values the lower location.";
    MaxLoc = 14, "MPI_MAXLOC", Located, "The pair with the larger value; of equal values the lower location.";
}

impl ReduceOp {
    /// The code that stands for the operation in packets. 0 is no operation.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Whether the operation is defined on elements of this type.
    #[inline]
    pub const fn is_defined_on(self, ty: BasicType) -> bool {
        // A bit for each type, found by one load: each small accumulate asks.
        const DEFINED: [u32; ReduceOp::ALL.len() + 1] = {
            assert!(BasicType::ALL.len() <= u32::BITS as usize);
            let mut table = [0; ReduceOp::ALL.len() + 1];
            let mut at = 0;
            while at < ReduceOp::ALL.len() {
                let (op, mut ty) = (ReduceOp::ALL[at], 0);
                while ty < BasicType::ALL.len() {
                    table[op as usize] |= (op.takes(BasicType::ALL[ty]) as u32) << BasicType::ALL[ty] as u32;
                    ty += 1;
                }
                at += 1;
            }
            table
        };
        DEFINED[self as usize] >> ty as u32 & 1 != 0
    }

    const fn takes(self, ty: BasicType) -> bool {
        use TypeClass as C;
        match self.operand_types() {
            OperandTypes::Numbers => matches!(ty.class(), C::Signed | C::Unsigned | C::Float | C::Complex),
            OperandTypes::Ordered => matches!(ty.class(), C::Signed | C::Unsigned | C::Float),
            OperandTypes::Logical => matches!(ty.class(), C::Signed | C::Unsigned | C::Logical),
            OperandTypes::Bits => matches!(ty.class(), C::Signed | C::Unsigned | C::Byte),
            OperandTypes::Located => matches!(ty.class(), C::Pair),
            OperandTypes::Any => true,
        }
    }

    /// Whether the operation may be given to accumulate, which returns nothing: all but `NO_OP` (MPI 3.1 §11.3.4).
    #[inline]
    pub const fn is_accumulate(self) -> bool {
        !matches!(self, Self::NoOp)
    }
}

impl fmt::Display for ReduceOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_a_bijection_and_zero_is_none() {
        let known = (0..=u8::MAX).filter_map(ReduceOp::from_code).collect::<Vec<_>>();
        assert_eq!(known, ReduceOp::ALL);
        assert!(known.iter().all(|op| ReduceOp::from_code(op.code()) == Some(*op)));
        assert_eq!(ReduceOp::from_code(0), None);
    }

    #[test]
    fn legality_is_the_table_of_the_standard() {
        for op in ReduceOp::ALL {
            // In the order: integers, floating point, complex, logical, byte, character, pair.
            let row = match op.name() {
                "MPI_MAX" | "MPI_MIN" => [true, true, false, false, false, false, false],
                "MPI_SUM" | "MPI_PROD" => [true, true, true, false, false, false, false],
                "MPI_LAND" | "MPI_LOR" | "MPI_LXOR" => [true, false, false, true, false, false, false],
                "MPI_BAND" | "MPI_BOR" | "MPI_BXOR" => [true, false, false, false, true, false, false],
                "MPI_MINLOC" | "MPI_MAXLOC" => [false, false, false, false, false, false, true],
                "MPI_REPLACE" | "MPI_NO_OP" => [true; 7],
                name => panic!("{name} is not in the standard's table"),
            };
            for ty in BasicType::ALL {
                let column = match ty.name() {
                    "f32" | "f64" | "long double" => 1,
                    "byte" => 4,
                    "char" | "wchar" => 5,
                    name if name.starts_with(['i', 'u']) => 0,
                    name if name.starts_with("complex") => 2,
                    name if name.starts_with("logical") => 3,
                    name if name.starts_with('(') => 6,
                    name => panic!("{name} has no column"),
                };
                assert_eq!(op.is_defined_on(*ty), row[column], "{op} on {ty}");
            }
        }
        assert_eq!(ReduceOp::ALL.iter().filter(|op| !op.is_accumulate()).count(), 1);
    }
}
