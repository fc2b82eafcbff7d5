//! Collectives (MPI 5.0 §6): arguments to packed blocks, the runtime's machines, and results back into memory.
//!
//! [`data`] packs and stores, [`begin`] has one function for each collective, which serves its blocking and nonblocking,
//! small and large forms; [`neighbor`] has that of neighborhoods, and [`persistent`] calls them again. Of an intercommunicator, [`inter`]
//! has the functions. The entry points are in `calls`.

pub(crate) mod begin;
mod data;
mod inter;
pub(crate) mod neighbor;
pub(crate) mod persistent;
mod under_way;

pub(crate) use data::Data;
