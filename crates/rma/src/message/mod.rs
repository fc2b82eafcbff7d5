//! Messages between the processes of a job, on the engine's channels: ordered, matched by source and tag, nonblocking.
//!
//! The runtime's collectives and the point-to-point calls of the C library are made of these. [`Messenger`] is the handle
//! that callers use; [`MessageUpper`] is the same thing as the engine sees it, and does all the sending when the engine
//! advances. Both share one state behind a lock of its own that is held for bookkeeping only, never while waiting.
//!
//! A small message travels at once, as long as the receiver has granted room to keep it (credit); every other
//! one is announced, and its bytes move from the sender's buffer to the receiver's when the receiver asks for
//! them. So the memory for messages that no receive has asked for yet is bounded per contacted peer, except
//! for one small entry per announced message, which the sender pays for as well.

mod absent;
mod agreement;
mod config;
mod credit;
mod deaths;
mod delivery;
mod lent;
mod matching;
mod memory;
mod messenger;
mod near;
mod needs;
mod notice;
mod packet;
mod quits;
mod request;
mod revoked;
mod seen;
mod send_request;
mod sending;
mod state;
mod upper;
mod withdrawal;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_absent;
#[cfg(test)]
mod tests_of_deaths;
#[cfg(test)]
mod tests_of_fast_path;
#[cfg(test)]
mod tests_of_lent;
#[cfg(test)]
mod tests_of_modes;
#[cfg(test)]
mod tests_of_release;
#[cfg(test)]
mod tests_of_revoked;

pub(crate) use absent::Making;
pub(crate) use agreement::Ballot;
pub use config::MessageConfig;
pub use memory::{ReceiveMemory, SendMemory};
pub use messenger::{MatchedMessage, Messenger, ReceiveRequest, ShortReceive};
pub(crate) use near::near;
pub use needs::MessageId;
pub(crate) use needs::with_root;
pub use packet::{Plane, Scope};
pub(crate) use quits::tag_of;
pub use send_request::SendRequest;
pub(crate) use sending::left_error;
pub(crate) use state::Absence;
pub use state::{Received, SendMode, Waiting};
pub use upper::MessageUpper;
