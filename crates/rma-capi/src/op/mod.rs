//! Operations: the objects behind `MPI_Op`, and how reductions and accumulates use them (MPI 5.0 §6.9, §12.3.4).
//!
//! A predefined handle is an operation of the engine; one of the program is a function. Reductions take both, accumulates
//! predefined ones only.

mod object;
mod predefined;
mod user;

pub(crate) use object::{OPS, OpTwin, combine, unknown, user};
pub(crate) use predefined::{kernel, reduce_op, refused};
pub(crate) use user::{OpFunction, UserOp};
