//! PMI-1, by which the processes of a job find each other: both sides, and the words that they use.
//!
//! A rank's side is [`Client`]; it speaks to `rmarun` or any other launcher that has PMI-1. The launcher's side is [`Server`], a state
//! machine without I/O. `facts` are what ranks report to `rmarun` beyond the protocol. Nothing here knows a channel, a message or a window.

mod agreed;
mod client;
pub(crate) mod facts;
mod inherited;
mod line;
mod mapping;
mod notices;
mod ranks;
mod secret;
mod server;
mod wire;

#[cfg(feature = "launcher")]
pub(crate) use agreed::JOB_PREFIX;
pub(crate) use agreed::{DEATH, REPORT};
pub use agreed::{KEY_LEN_MAX, NAME_LEN_MAX, ON_FAILURE_KEY, VALUE_LEN_MAX};
pub use client::Client;
pub use line::{Line, LineError, LineReader};
pub use mapping::ProcessMapping;
pub use notices::Notice;
pub use ranks::Ranks;
pub use secret::{SECRET_KEY, Secret};
pub use server::{Answers, Event, Phase, Server};
