//! `cargo xtask bench`: this library beside other MPI libraries and beside the limits of the machine.
//!
//! One C program (`crates/rma-bench/c`) is built with every library found ([`libraries`]) and run by each one's launcher, in
//! turn, several times over ([`sweep`]), with the settings that make it use shared memory or TCP ([`columns`]). What the
//! program prints ([`job`]) becomes measurements ([`results`]), which are judged ([`figures`]), written as a page, a table
//! and JSON ([`report`]), and compared with an earlier run ([`regression`]). `--sweep` measures our library alone, with several
//! values of one variable ([`vary`]).
//!
//! `cargo xtask bench parts` runs the criterion benches, `cargo xtask bench paths` the quick look at our own paths,
//! `cargo xtask bench collectives` the small collectives of more and more ranks.

mod cases;
mod collectives;
mod columns;
mod command;
mod figures;
mod job;
mod leavings;
mod libraries;
mod machine;
mod ours;
mod paths;
mod peers;
mod reasons;
mod regression;
mod report;
mod results;
mod sweep;
mod units;
mod vary;

pub(crate) use command::{Args, run};
pub(crate) use peers::install as install_peers;
pub(crate) use report::MARKS as BUDGET_MARKS;
pub(crate) use vary::MARKS as SWEEP_MARKS;
