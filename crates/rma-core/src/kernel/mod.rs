//! Reduce operations over basic types: the one apply family of every path, direct and at the target's engine.
//!
//! A [`Kernel`] is a legal pair of operation and type; [`CompareAndSwap`] a type that may be compared. Both change the
//! target element by element, each element's read and update in one atomic step (MPI 3.1 §11.7.1), `REPLACE` and `NO_OP`
//! included. There is no second implementation anywhere, so that two paths to one location cannot differ (lessons 44, 45
//! and 47).
//!
//! Memory is touched through `mem` alone, elements that do not lie side by side through the walks of `datatype`. Knows no
//! windows and no packets.

#![forbid(unsafe_code)]

mod apart;
#[cfg(test)]
mod apart_tests;
mod apply;
mod exclusion;
pub(crate) mod function;
mod long;
mod long_double;
mod op;
mod operand;
mod pieces;
mod rows;
mod scattered;
mod swap;
#[cfg(test)]
mod tests;
mod wide;
#[cfg(test)]
mod wide_tests;

pub use apply::Kernel;
pub(crate) use apply::{Class, with_function};
pub use exclusion::{Admission, Exclusion, Sole};
pub(crate) use function::{Function, Number};
pub(crate) use long::combine_run;
pub(crate) use long_double::long_double_code;
pub use op::ReduceOp;
pub(crate) use operand::Nowhere;
pub use operand::{OperandSource, ResultSink};
pub(crate) use pieces::Operands;
pub use swap::CompareAndSwap;
