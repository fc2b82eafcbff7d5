//! The launcher `rmarun`: starts processes, and serves them PMI-1.
//!
//! An event loop behind [`main`] drives [`crate::pmi::Server`], the launcher's side of PMI-1. On each other host a [`proxy`] starts the
//! ranks, and [`frames`] through the streams of a launch agent carry what the loop has of its own ranks by pipes. Nothing here knows a channel, a message
//! or a window. Only the feature `launcher` has this module: a program that communicates needs no command line parser.

mod binding;
mod blame;
mod child;
mod ending;
mod fed;
mod frames;
mod guard;
mod hosts;
mod job;
mod options;
mod outbox;
mod outcome;
mod output;
mod placing;
mod plan;
mod proxy;
mod rank;
mod remote;
mod settings;
mod signals;
mod starting;
mod stdin;
mod stragglers;
mod telling;
mod traces;
mod waits;
mod ward;

pub use hosts::{Host, Hosts};
pub use job::main;
pub use options::{BindTo, MapBy, OnDeadlock, OnFailure, Options, Program};
