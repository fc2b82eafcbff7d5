//! The launcher `rmarun`: starts processes, and serves them PMI-1.
//!
//! [`Server`] is the launcher's side of PMI-1 (a state machine without I/O; a rank's is [`crate::pmi`]), driven by the event loop
//! behind [`main`]. Nothing here knows a channel, a message or a window.

mod blame;
mod child;
mod ending;
mod guard;
mod job;
mod options;
mod outcome;
mod output;
mod rank;
mod server;
mod signals;
mod stdin;
mod stragglers;
mod telling;
pub(crate) mod waits;

pub use job::main;
pub use options::{OnFailure, Options, Program};
pub use server::{Answers, Event, Phase, Server};
