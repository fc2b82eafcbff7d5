//! Collectives (MPI 5.0 §6): arguments to packed blocks, the runtime's machines, and results back into memory.
//!
//! [`data`] packs and stores, [`begin`] has one function for each collective, which serves its blocking and nonblocking,
//! small and large forms; [`calls`], [`calls_of_reductions`],
//! [`nonblocking`], [`nonblocking_varying`] and [`nonblocking_scans`] are the entry points. Of an intercommunicator, [`inter`] has the functions.

mod begin;
mod calls;
mod calls_of_reductions;
mod data;
mod inter;
mod nonblocking;
mod nonblocking_scans;
mod nonblocking_varying;
mod under_way;

pub(crate) use data::Data;
