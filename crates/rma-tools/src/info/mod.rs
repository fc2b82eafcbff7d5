//! `rma-info`: what this library is, and every variable with the value in force.
//!
//! The variables are the tables that the library itself reads (`rma::config`); nothing about them is written here.

mod command;
mod report;
mod text;

pub use command::{InfoOptions, main};
pub use report::{ABI_VERSION, ChannelReport, MPI_VERSION, Report};
