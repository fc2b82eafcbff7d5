//! Start-up: the PMI-1 wire protocol, both ends, and the launcher `rmarun` that is its server.
//!
//! A rank's side is [`Client`]. The launcher's side is [`Server`] (a state machine without I/O), driven by the event loop
//! behind [`main`]. Nothing here knows a channel, a message or a window.

mod blame;
mod child;
mod client;
mod ending;
mod guard;
mod inherited;
mod job;
mod line;
mod mapping;
mod notices;
mod options;
mod others;
mod outcome;
mod output;
mod rank;
mod secret;
mod server;
mod signals;
mod stdin;
mod stragglers;
mod telling;
pub(crate) mod waits;
mod wire;

pub use client::Client;
pub use job::main;
pub use line::{Line, LineError, LineReader};
pub use mapping::ProcessMapping;
pub use notices::Notice;
pub use options::{OnFailure, Options, Program};
pub use others::other_launcher;
pub use secret::{SECRET_KEY, Secret};
pub use server::{Answers, Event, KEY_LEN_MAX, NAME_LEN_MAX, ON_FAILURE_KEY, Phase, Server, VALUE_LEN_MAX};
