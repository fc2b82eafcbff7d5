//! Communicators: the objects behind `MPI_Comm` (MPI 5.0 §7). The predefined ones belong to [`crate::process`], which finds one by its
//! handle.

mod hints;
mod object;
mod partners;

pub(crate) use hints::Hints;
pub(crate) use object::{COMMS, Comm, CommTwin, Offspring, TAG_UB, disown, owner};
pub(crate) use partners::Partners;
