//! The launcher `rmarun`: starts processes, and serves them PMI-1.
//!
//! [`main`] runs an event loop that drives [`crate::pmi::Server`], the launcher's side of PMI-1. On each other host a [`proxy`] starts
//! the ranks. Their output and PMI lines reach the loop as [`frames`], over the streams of a launch agent; those of ranks on this host by pipes. Nothing here knows a channel, a message
//! or a window. Only the feature `launcher` has this module: a program that communicates needs no command line parser.

mod binding;
mod blame;
mod child;
mod cuts;
mod ending;
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
mod proxied_rank;
mod proxy;
mod rank;
mod remote;
mod remote_streams;
mod reporting;
mod settings;
mod signals;
mod start_error;
mod starting;
mod stdin;
mod stragglers;
mod traces;
mod waits;

pub use hosts::{Host, Hosts};
pub use job::main;
pub use options::{BindTo, MapBy, OnDeadlock, OnFailure, Options, Program};
