//! What C programs and the library agree on: types and constants of the MPI 5.0 standard ABI. No behaviour.

mod constants;
mod types;

pub(crate) use constants::*;
pub(crate) use types::*;
