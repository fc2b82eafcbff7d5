//! `cargo xtask abi`: the header, the constants and the exported symbols of the C library against the tables of the ABI.
//!
//! The tables (`crates/rma-capi/abi/`) are the only place where a fact of the ABI is typed. From them come, checked in,
//! the constants as Rust has them and the header; what the header declares is what the built library exports, so that a
//! call that does not exist yet fails when a program is built, by its name. Nothing here knows what a call does.

mod command;
mod constants;
mod header;
mod library;
mod probe;
mod signatures;
mod tables;
mod unsupported;

pub(crate) use command::{Args, header_of, implemented_in, run, tables};
pub(crate) use library::SONAME;
pub(crate) use tables::{Constant, Function, Kind, Tables, rows};
