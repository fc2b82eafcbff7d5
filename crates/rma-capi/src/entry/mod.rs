//! The frame of every entry point: what happens around the body of a call, and the twin with the profiling name.
//!
//! An entry point checks that MPI is running, runs its body with cancellation of the thread put off, keeps panics from
//! crossing into C, and hands an error to the handler of the communicator or window that the call belongs to. Bodies are
//! safe code: the types of their arguments ([`crate::arguments`]) carry what a C caller promises.
//!
//! `MPI_X` and `PMPI_X` are two functions with one body. A tool may define `MPI_X` itself and call `PMPI_X`; nothing in
//! this library calls either.
//!
//! It looks for the handler of an error in the tables of communicators and windows, so it lies above their rooms; what is in the
//! rooms of objects knows a [`Raiser`](crate::errors::Raiser) only. All entry points are in `calls`.

mod early;
mod frame;
mod macros;
mod raise;

pub(crate) use early::{Early, Named};
pub(crate) use frame::{call, call_any_time, call_for, call_of_any};
pub(crate) use macros::{entry, entry_of_any, forms, plain};
pub(crate) use raise::{handle, raise};
