//! The launcher `rmarun`: starts processes, and serves them PMI-1.
//!
//! An event loop behind [`main`] drives [`crate::pmi::Server`], the launcher's side of PMI-1. Nothing here knows a channel, a message
//! or a window. Only the feature `launcher` has this module: a program that communicates needs no command line parser.

mod blame;
mod child;
mod ending;
mod guard;
mod job;
mod options;
mod outcome;
mod output;
mod rank;
mod settings;
mod signals;
mod stdin;
mod stragglers;
mod telling;
mod waits;

pub use job::main;
pub use options::{OnFailure, Options, Program};
