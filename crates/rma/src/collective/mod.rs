//! Collectives over messages, as step machines: each call of [`Machine::step`] does what can be done now and never waits.
//!
//! | collective | way | messages sent by a rank |
//! | --- | --- | --- |
//! | [`Barrier`] | dissemination | ⌈log2 P⌉ |
//! | [`Broadcast`] | binomial tree | at most ⌈log2 P⌉ |
//! | [`Reduction`] (to all) | recursive doubling; ranks beyond a power of two fold in first | at most ⌊log2 P⌋ + 1 |
//! | [`Gather`] | binomial tree | 1 |
//! | [`AllGather`] | dissemination (Bruck) | ⌈log2 P⌉ |
//!
//! Invariants: every rank of a group takes part in the same collectives in the same order, and the number of a collective
//! on its group is part of its tags, so that consecutive ones never mix; results depend on ranks and values only, never on
//! the order in which messages arrive. A machine that ends has sent all it had to send.

mod allgather;
mod barrier;
mod broadcast;
mod frames;
mod gather;
mod link;
mod reduction;

#[cfg(test)]
mod tests;

pub use allgather::AllGather;
pub use barrier::Barrier;
pub use broadcast::Broadcast;
pub use gather::Gather;
pub use link::{Link, Machine};
pub use reduction::Reduction;
