//! The predefined operations, by the ABI's numbers (MPI 5.0 §6.9.2, §12.3.4).

use crate::abi::*;
use crate::datatype;
use rma::{Error, ErrorClass};
use rma_core::datatype::BasicType;
use rma_core::kernel::{Kernel, ReduceOp};

/// The number of the first handle of an operation.
const FIRST: usize = MPI_OP_NULL.0;

/// The engine's operations, by handle: a look-up that is one load.
static OPERATIONS: [Option<ReduceOp>; 32] = {
    let mut operations = [None; 32];
    let mut at = 0;
    while at < PREDEFINED.len() {
        operations[PREDEFINED[at].0.0 - FIRST] = Some(PREDEFINED[at].1);
        at += 1;
    }
    operations
};

const PREDEFINED: [(MPI_Op, ReduceOp); 14] = [
    (MPI_SUM, ReduceOp::Sum),
    (MPI_MIN, ReduceOp::Min),
    (MPI_MAX, ReduceOp::Max),
    (MPI_PROD, ReduceOp::Prod),
    (MPI_BAND, ReduceOp::BitAnd),
    (MPI_BOR, ReduceOp::BitOr),
    (MPI_BXOR, ReduceOp::BitXor),
    (MPI_LAND, ReduceOp::LogicalAnd),
    (MPI_LOR, ReduceOp::LogicalOr),
    (MPI_LXOR, ReduceOp::LogicalXor),
    (MPI_MINLOC, ReduceOp::MinLoc),
    (MPI_MAXLOC, ReduceOp::MaxLoc),
    (MPI_REPLACE, ReduceOp::Replace),
    (MPI_NO_OP, ReduceOp::NoOp),
];

/// The engine's operation of a predefined handle.
#[inline]
pub(crate) fn reduce_op(op: MPI_Op) -> Option<ReduceOp> {
    *OPERATIONS.get(op.0.wrapping_sub(FIRST))?
}

/// The kernel of an accumulate on `len` bytes of elements. No elements may be combined by any operation, also one that is not defined on
/// their type: the standard leaves it open, other libraries take it, and bindings of other languages make such calls.
#[inline]
pub(crate) fn kernel(op: ReduceOp, basic: BasicType, len: u64) -> Option<Kernel> {
    Kernel::new(op, basic).or_else(|| (len == 0).then(|| Kernel::new(ReduceOp::Replace, basic)).flatten())
}

/// Whether an operation can be used in a reduction: `MPI_REPLACE` and `MPI_NO_OP` are for accumulates only.
pub(super) fn is_reduction(op: ReduceOp) -> bool {
    !matches!(op, ReduceOp::Replace | ReduceOp::NoOp)
}

/// Why an operation cannot be used on elements of a datatype, or in an accumulate.
#[cold]
pub(crate) fn refused(op: MPI_Op, datatype: MPI_Datatype) -> Error {
    let cause = match reduce_op(op) {
        Some(op) => format!("{op} is not defined on {} elements", datatype::elements_name(datatype)),
        None if op == MPI_OP_NULL => "op is MPI_OP_NULL".to_owned(),
        None if super::user(op).is_some() => {
            "op was made by the program, but accumulates take predefined operations only".to_owned()
        }
        None => format!("op {:#x} is no operation, or was freed", op.0),
    };
    Error::new(ErrorClass::Op, "", cause)
}
