//! Windows: the objects behind `MPI_Win`, and what the one-sided calls do with them (MPI 5.0 §12).
//!
//! [`handle_cache`] finds a window's direct path by one look at the handle, for the fast paths that a call tries first
//! ([`crate::calls`], `window/direct_path.rs`); [`transfer`] and [`requested`] have the slow paths.

pub(crate) mod create;
pub(crate) mod handle_cache;
mod hints;
pub(crate) mod notified;
mod object;
pub(crate) mod requested;
mod sides;
pub(crate) mod synchronize;
pub(crate) mod transfer;

pub(crate) use hints::hints;
pub(crate) use object::{Facts, WINDOWS, Win, find, get};
