//! MPI one-sided communication for Rust programs.
//!
//! This crate is the runtime around the engine of [`rma_core`]: it starts processes and lets them find each other
//! ([`launch`]).

pub mod launch;
