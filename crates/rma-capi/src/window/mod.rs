//! Windows: the objects behind `MPI_Win`, and what the one-sided calls do with them (MPI 5.0 §12).
//!
//! [`near`] finds a window's direct path by one look at the handle, for the fast paths that a call tries first
//! ([`crate::calls`], `window/now.rs`); [`transfer`] and [`requested`] have the slow paths.

pub(crate) mod create;
mod hints;
pub(crate) mod near;
mod object;
pub(crate) mod requested;
pub(crate) mod synchronize;
pub(crate) mod transfer;

pub(crate) use hints::hints;
pub(crate) use object::{Facts, WINDOWS, Win, find, get};
