//! The manual pages: programs in section 1, the library and its variables in section 7.
//!
//! Options come from the definitions that the programs parse with, variables from the tables that the library reads; only
//! what neither knows is written here.

mod library;
mod programs;
mod write;

pub use write::write;
