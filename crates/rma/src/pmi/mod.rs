//! A rank's side of PMI-1, by which the processes of a job find each other, and the words that both sides use.
//!
//! A rank's side is [`Client`]; it speaks to `rmarun` or any other launcher that has PMI-1. Nothing here knows a channel, a
//! message or a window.

mod agreed;
mod client;
mod inherited;
mod line;
mod mapping;
mod notices;
mod others;
mod secret;
mod wire;

pub(crate) use agreed::{DEATH, JOB_PREFIX, REPORT};
pub use agreed::{KEY_LEN_MAX, NAME_LEN_MAX, ON_FAILURE_KEY, VALUE_LEN_MAX};
pub use client::Client;
pub use line::{Line, LineError, LineReader};
pub use mapping::ProcessMapping;
pub use notices::Notice;
pub use others::other_launcher;
pub use secret::{SECRET_KEY, Secret};
