//! Reduce operations over basic types: the one apply family of every path, direct and at the target's engine.
//!
//! A [`Kernel`] is a legal pair of operation and type; [`CompareAndSwap`] a type that may be compared. Both change the
//! target element by element, each element's read and update in one atomic step (MPI 3.1 §11.7.1), `REPLACE` and `NO_OP`
//! included. There is no second implementation anywhere, so that two paths to one location cannot differ (lessons 44, 45
//! and 47).
//!
//! Memory is touched through `mem` alone. Knows no windows, packets or layouts; callers cut
//! non-contiguous transfers into contiguous runs of whole elements.

#![forbid(unsafe_code)]

mod apply;
mod function;
mod op;
mod operand;
#[cfg(test)]
mod tests;

pub use apply::{CompareAndSwap, Exclusion, Kernel, Sole};
pub use op::ReduceOp;
pub use operand::{Sink, Source};
