//! The table of operations, and what a reduction does with one.

use super::predefined::{is_reduction, reduce_op, refused};
use super::user::{UserCombine, UserOp};
use crate::abi::{MPI_Datatype, MPI_OP_NULL, MPI_Op};
use crate::datatype;
use crate::handle::Table;
use rma::collective::Combine;
use rma::{Error, ErrorClass, Result};
use rma_core::kernel::Kernel;
use std::sync::Arc;

pub(crate) static OPS: Table<MPI_Op, UserOp> = Table::new();

/// What a reduction of elements of a datatype does with the values of two ranks.
pub(crate) fn combine(op: MPI_Op, handle: MPI_Datatype) -> Result<Arc<dyn Combine>> {
    if let Some(user) = user(op) {
        return Ok(Arc::new(UserCombine::new(*user, handle, datatype::committed("datatype", handle)?)));
    }
    let Some(predefined) = reduce_op(op).filter(|op| is_reduction(*op)) else {
        return Err(unknown(op));
    };
    let basic = datatype::predefined_only("datatype", handle)?;
    match Kernel::new(predefined, basic) {
        Some(kernel) => Ok(Arc::new(kernel)),
        None => Err(refused(op, handle)),
    }
}

/// An operation under a handle of its own, which stays good when the program frees the operation.
pub(crate) struct OpTwin(MPI_Op);

impl OpTwin {
    /// `None` when no handle is left.
    pub(crate) fn of(op: MPI_Op) -> Option<Self> {
        user(op).map_or(Some(op), |user| OPS.insert(*user)).map(Self)
    }

    pub(crate) fn handle(&self) -> MPI_Op {
        self.0
    }
}

impl Drop for OpTwin {
    fn drop(&mut self) {
        // Of a predefined one the table knows nothing.
        OPS.remove(self.0);
    }
}

/// The program's operation of a handle.
pub(crate) fn user(op: MPI_Op) -> Option<&'static UserOp> {
    // SAFETY: MPI forbids to free an operation while another thread passes it to a call.
    unsafe { OPS.get(op) }
}

#[cold]
pub(crate) fn unknown(op: MPI_Op) -> Error {
    let cause = match reduce_op(op) {
        Some(op) => format!("{op} is for accumulates only"),
        None if op == MPI_OP_NULL => "op is MPI_OP_NULL".to_owned(),
        None => format!("op {:#x} is no operation, or was freed", op.0),
    };
    Error::new(ErrorClass::Op, "", cause)
}
