//! `cargo xtask programs`: test suites that others wrote, built against this library.
//!
//! Their sources come from package registries, or lie in a folder that is named; nothing of them is in this repository. What fails and
//! is not in the list of known failures, each with its reason, is an error.

mod arrays;
mod command;
mod crates;
mod mpi4py;
mod mpich;
mod outcomes;
mod petsc;
mod place;

pub(crate) use command::{Args, run};
