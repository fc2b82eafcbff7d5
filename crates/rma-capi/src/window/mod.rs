//! Windows: the objects behind `MPI_Win`, and what the one-sided calls do with them (MPI 5.0 §12).
//!
//! [`now`] has the fast paths, which a call tries first, with [`near`], which finds a window's direct path by one look at the handle; [`transfer`] and
//! [`requested`] have the slow paths.

pub(crate) mod create;
mod hints;
pub(crate) mod near;
pub(crate) mod now;
mod object;
pub(crate) mod requested;
pub(crate) mod synchronize;
pub(crate) mod transfer;

pub(crate) use hints::hints;
pub(crate) use object::{Facts, WINDOWS, Win, find, get};
