//! The two libraries in this process: the host, which the program was linked with, and this project's own, which is loaded beside it
//! and whose names no other object sees.
//!
//! Invariant: neither is ever unloaded, so a function that was found stays.

mod host;
mod object;
mod own;
mod symbol;

pub(crate) use host::{attaches_unseen, host};
pub(crate) use object::{Object, next_of};
pub(crate) use own::own;
pub(crate) use symbol::{Symbol, declare};
