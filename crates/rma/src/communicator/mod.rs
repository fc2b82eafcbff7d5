//! Communicators: groups of ranks whose messages and collectives do not meet those of others.
//!
//! Invariants: a context is the same number on all ranks of a communicator, and no two communicators of a job ever have the
//! same; collectives of a communicator are called in the same order on all its ranks.

mod blocking;
mod collectives;
mod context;
mod create;
mod faults;
mod handle;
mod messages;
mod wish;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_slots;

pub(crate) use context::{Created, Creation, accept, propose};
pub use faults::Agreed;
pub(crate) use faults::{Agreeing, has_ended, is_held_for_dead};
pub use handle::Communicator;
pub use messages::{Envelope, Message, Receiving, Sending};
pub(crate) use wish::SplitWish;
