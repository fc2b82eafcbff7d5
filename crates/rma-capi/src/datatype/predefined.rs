//! The predefined datatypes: one table from the ABI's number to the engine's basic type and the name.

use crate::abi::*;
use rma_core::datatype::{BasicType, BasicType::*, Datatype};
use std::ffi::c_char;
use std::sync::OnceLock;

/// The first predefined handle, and the number of them.
const FIRST: usize = 0x200;
const COUNT: usize = 0x100;

const KINDS: [Option<BasicType>; COUNT] = kinds();

/// Bytes of an element where elements lie without gaps; 0 for everything else.
static DENSE_SIZES: [u8; COUNT] = dense_sizes();

/// What C's `char` is to operations: a small integer. The standard lists `MPI_CHAR` for none of them, so no correct program can
/// tell; but other libraries compute with it, and programs rely on that.
const C_CHAR: BasicType = if c_char::MIN == 0 { U8 } else { I8 };

macro_rules! predefined {
    ($($handle:ident = $basic:ident;)*) => {
        const fn kinds() -> [Option<BasicType>; COUNT] {
            let mut kinds = [None; COUNT];
            $(kinds[$handle.0 - FIRST] = Some($basic);)*
            kinds
        }

        /// The constant's name.
        pub(crate) fn name(datatype: MPI_Datatype) -> Option<&'static str> {
            match datatype {
                $($handle => Some(stringify!($handle)),)*
                _ => None,
            }
        }
    };
}

predefined! {
    MPI_AINT = I64;
    MPI_COUNT = I64;
    MPI_OFFSET = I64;
    MPI_PACKED = Byte;
    MPI_SHORT = I16;
    MPI_INT = I32;
    MPI_LONG = I64;
    MPI_LONG_LONG = I64;
    MPI_UNSIGNED_SHORT = U16;
    MPI_UNSIGNED = U32;
    MPI_UNSIGNED_LONG = U64;
    MPI_UNSIGNED_LONG_LONG = U64;
    MPI_FLOAT = F32;
    MPI_C_FLOAT_COMPLEX = ComplexF32;
    MPI_CXX_FLOAT_COMPLEX = ComplexF32;
    MPI_DOUBLE = F64;
    MPI_C_DOUBLE_COMPLEX = ComplexF64;
    MPI_CXX_DOUBLE_COMPLEX = ComplexF64;
    MPI_LOGICAL = Logical32;
    MPI_INTEGER = I32;
    MPI_REAL = F32;
    MPI_COMPLEX = ComplexF32;
    MPI_DOUBLE_PRECISION = F64;
    MPI_DOUBLE_COMPLEX = ComplexF64;
    MPI_CHARACTER = Char;
    MPI_LONG_DOUBLE = F80;
    MPI_C_LONG_DOUBLE_COMPLEX = ComplexF80;
    MPI_CXX_LONG_DOUBLE_COMPLEX = ComplexF80;
    MPI_FLOAT_INT = FloatInt;
    MPI_DOUBLE_INT = DoubleInt;
    MPI_LONG_INT = LongInt;
    MPI_2INT = IntInt;
    MPI_SHORT_INT = ShortInt;
    MPI_LONG_DOUBLE_INT = LongDoubleInt;
    MPI_2REAL = FloatFloat;
    MPI_2DOUBLE_PRECISION = DoubleDouble;
    MPI_2INTEGER = IntInt;
    MPI_C_BOOL = Logical8;
    MPI_CXX_BOOL = Logical8;
    MPI_WCHAR = WChar;
    MPI_INT8_T = I8;
    MPI_UINT8_T = U8;
    MPI_CHAR = C_CHAR;
    MPI_SIGNED_CHAR = I8;
    MPI_UNSIGNED_CHAR = U8;
    MPI_BYTE = Byte;
    MPI_INT16_T = I16;
    MPI_UINT16_T = U16;
    MPI_INT32_T = I32;
    MPI_UINT32_T = U32;
    MPI_INT64_T = I64;
    MPI_UINT64_T = U64;
    MPI_LOGICAL1 = Logical8;
    MPI_INTEGER1 = I8;
    MPI_LOGICAL2 = Logical16;
    MPI_INTEGER2 = I16;
    MPI_LOGICAL4 = Logical32;
    MPI_INTEGER4 = I32;
    MPI_REAL4 = F32;
    MPI_LOGICAL8 = Logical64;
    MPI_INTEGER8 = I64;
    MPI_REAL8 = F64;
    MPI_COMPLEX8 = ComplexF32;
    MPI_COMPLEX16 = ComplexF64;
}

/// The basic type of a predefined handle.
#[inline]
pub(crate) fn basic_type(datatype: MPI_Datatype) -> Option<BasicType> {
    *KINDS.get(datatype.0.wrapping_sub(FIRST))?
}

/// Bytes of an element of a predefined type whose elements lie without gaps; 0 for all other handles.
#[inline]
pub(crate) fn dense_size(datatype: MPI_Datatype) -> u64 {
    DENSE_SIZES.get(datatype.0.wrapping_sub(FIRST)).copied().unwrap_or_default().into()
}

/// The engine's datatype of a basic type; clones are cheap.
pub(crate) fn datatype(basic: BasicType) -> &'static Datatype {
    static TYPES: [OnceLock<Datatype>; 256] = [const { OnceLock::new() }; 256];
    TYPES[usize::from(basic.code())].get_or_init(|| Datatype::basic(basic))
}

/// The name of a constant of the ABI that this library has no type for.
pub(crate) fn unsupported(datatype: MPI_Datatype) -> Option<&'static str> {
    match datatype {
        MPI_REAL2 => Some("MPI_REAL2"),
        MPI_COMPLEX4 => Some("MPI_COMPLEX4"),
        MPI_LOGICAL16 => Some("MPI_LOGICAL16"),
        MPI_INTEGER16 => Some("MPI_INTEGER16"),
        MPI_REAL16 => Some("MPI_REAL16"),
        MPI_COMPLEX32 => Some("MPI_COMPLEX32"),
        _ => None,
    }
}

const fn dense_sizes() -> [u8; COUNT] {
    let mut sizes = [0; COUNT];
    let mut i = 0;
    while i < COUNT {
        if let Some(basic) = KINDS[i]
            && basic.size() == basic.extent()
        {
            sizes[i] = basic.size() as u8;
        }
        i += 1;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_find_their_types_and_nothing_else() {
        assert_eq!(basic_type(MPI_INT), Some(BasicType::I32));
        assert_eq!((dense_size(MPI_DOUBLE), dense_size(MPI_SHORT_INT)), (8, 0));
        for bits in [0, 0x1ff, 0x200, 0x300, 0x2e1, usize::MAX] {
            assert_eq!(
                (basic_type(MPI_Datatype(bits)), dense_size(MPI_Datatype(bits))),
                (None, 0),
                "{bits:#x}"
            );
        }
        assert_eq!(basic_type(MPI_CHAR).map(|basic| basic.size()), Some(1));
        assert_eq!(name(MPI_2INT), Some("MPI_2INT"));
    }
}
