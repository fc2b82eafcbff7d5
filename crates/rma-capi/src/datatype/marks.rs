//! The marks of MPI-1, `MPI_LB` and `MPI_UB`: datatypes without data that bound the types they are put into by `MPI_Type_struct`.
//!
//! The standard ABI has no numbers for them. These lie behind all that it gives away, and are no addresses.

use crate::abi::MPI_Datatype;
use rma_core::datatype::Datatype;
use std::sync::LazyLock;

const MPI_LB: MPI_Datatype = MPI_Datatype(0x401);
const MPI_UB: MPI_Datatype = MPI_Datatype(0x402);

/// The constant's name.
pub(crate) fn name(datatype: MPI_Datatype) -> Option<&'static str> {
    match datatype {
        MPI_LB => Some("MPI_LB"),
        MPI_UB => Some("MPI_UB"),
        _ => None,
    }
}

/// Whether a handle is of a mark.
pub(crate) fn is_mark(datatype: MPI_Datatype) -> bool {
    name(datatype).is_some()
}

/// The engine's datatype of a mark.
pub(crate) fn datatype(datatype: MPI_Datatype) -> Option<&'static Datatype> {
    static LOWER: LazyLock<Datatype> = LazyLock::new(Datatype::lower_mark);
    static UPPER: LazyLock<Datatype> = LazyLock::new(Datatype::upper_mark);
    match datatype {
        MPI_LB => Some(&LOWER),
        MPI_UB => Some(&UPPER),
        _ => None,
    }
}
