//! `rma-guest`: starts a job of another MPI with the guest in front of it.
//!
//! Each launcher hands variables to ranks in its own way; which one it is, it says itself. Then this program becomes the launcher, so
//! that status and signals are the launcher's own.

mod command;
mod launcher;

pub use command::{GuestOptions, main};
