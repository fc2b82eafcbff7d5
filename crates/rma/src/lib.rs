//! MPI one-sided communication for Rust programs.
//!
//! This crate is the runtime around the engine of [`rma_core`]: it starts processes and lets them find each other
//! ([`launch`]), and lets them exchange messages ([`message`]).

pub mod collective;
#[doc(hidden)]
pub mod demo;
pub mod host;
pub mod launch;
pub mod message;

#[cfg(test)]
mod testing;
