//! Requests: the objects behind `MPI_Request`, of whatever kind, and what they are of (MPI 5.0 §3.7).
//!
//! ```text
//!   Active ── what is under way says how it ended ──> Ended ── told to the program ──> gone
//!     ^                                                              |
//!     └──────────── started again ──────────── Inactive <────────────┘ of a persistent request
//! ```
//!
//! What is under way is a [`Pending`]: a message, a collective, a one-sided operation. The calls know nothing else of
//! it, so that one call completes any mixture. Waiting is the runtime's; looking at a request moves nothing.

mod cell;
pub(crate) mod ended;
pub(crate) mod generalized;
mod object;
pub(crate) mod status;
mod wait;

pub(crate) use cell::REQUESTS;
pub(crate) use ended::{give_back, take_ended};
pub(crate) use object::{
    Numbers, Parts, Pending, Request, Settled, Settlement, Start, enter, enter_ended, enter_or_end,
    enter_persistent, free, get, next_call,
};
pub(crate) use status::{End, Status, StatusOut};
pub(crate) use wait::{wait_for, wait_within};
