//! Fortran over the standard ABI: the modules `mpi_f08` and `mpi`, `mpif.h`, and the part in C below them, written from the tables of the ABI.
//!
//! Each function of the table is an interface that programs call, and a function in C that turns what Fortran passes into
//! what the ABI takes. What is left out stands in `abi/fortran.tsv` with its reason; a function that no rule covers is an error.
//! Nothing here is compiled: a module fits one compiler, so `rmafc` does it where it is used.

mod command;
mod constants;
mod include;
mod module;
mod old;
mod parameters;
mod shim;
mod sources;
mod text;

pub(crate) use command::{Args, run};
pub(crate) use sources::{INCLUDED, Source, findings, sources};
