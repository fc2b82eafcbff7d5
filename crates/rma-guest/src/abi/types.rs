//! The types of arguments, as they are on the machines that the project builds for.

/// A handle as an argument: a pointer, or an `int` in the lower half of a register whose upper half is undefined.
pub(crate) type Handle = usize;
/// `MPI_Aint`.
pub(crate) type Aint = isize;
/// `MPI_Count`.
pub(crate) type Count = i64;
