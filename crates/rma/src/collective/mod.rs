//! Collectives over messages, as step machines: each call of [`Machine::step`] does what can be done now and never waits.
//!
//! | collective | way | messages sent by a rank |
//! | --- | --- | --- |
//! | [`Barrier`] | dissemination; five or more ranks that outnumber cores: up and down a tree | ⌈log2 P⌉; of all together 2 (P - 1) |
//! | [`Broadcast`] | binomial tree | at most ⌈log2 P⌉ |
//! | [`Reduce`] | binomial tree | 1, and one more if the operation is not commutative and the root not rank 0 |
//! | [`AllReduce`] | recursive doubling; ranks beyond a power of two fold in first | at most ⌊log2 P⌋ + 1 |
//! | [`Scan`] (inclusive and exclusive) | doubling distances | ⌈log2 P⌉ |
//! | [`ReduceScatter`] | [`AllToAll`], then each rank combines | P - 1 |
//! | [`Gather`], [`Scatter`] | binomial tree | 1; at most ⌈log2 P⌉ |
//! | [`AllGather`] | dissemination (Bruck) | ⌈log2 P⌉ |
//! | [`AllToAll`] | pairwise, a few at a time ([`Exchange`]) | P - 1 |
//! | [`ShortAllToAll`] | blocks travel by powers of two (Bruck) | ⌈log2 P⌉ |
//! | [`Neighbors`] | along the edges of a topology, all at once | one for each edge |
//!
//! Blocking collectives of ranks that share memory need no messages while their data are short (`crate::runtime`).
//!
//! Blocking collectives of the C library move long blocks straight from one program's memory to another's ([`Exchange`],
//! [`BroadcastInMemory`]); among few ranks, or where the collective slots say that blocks are long, these replace the trees of
//! gather and scatter, which pass on what they have packed.
//!
//! Invariants: every rank of a group takes part in the same collectives in the same order, and the number of a collective
//! on its group is part of its tags, so that consecutive ones never mix; results depend on ranks and values only, never on
//! the order in which messages arrive. A machine that ends has sent all it had to send.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod broadcast;
mod combine;
mod doubling;
mod exchange;
mod frames;
mod gather;
mod given;
mod link;
mod neighbors;
mod numbers;
mod reduce;
mod reduce_scatter;
mod same_length;
mod scan;
mod scatter;
mod sequence;
mod short_alltoall;
mod tree;
mod up_and_down;

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod tests_of_exchange;
#[cfg(test)]
mod tests_of_quits;
#[cfg(test)]
mod tests_of_values;

pub use allgather::AllGather;
pub use allreduce::AllReduce;
pub use alltoall::AllToAll;
pub use barrier::Barrier;
pub(crate) use broadcast::too_long;
pub use broadcast::{Broadcast, BroadcastInMemory};
pub use combine::{Combine, ElementWise};
pub use exchange::{Exchange, Take};
pub(crate) use frames::{join, split};
pub use gather::Gather;
pub use given::Given;
pub(crate) use given::packed;
pub(crate) use link::{CollectiveStep, Mapped, drive};
pub use link::{Link, Machine};
pub use neighbors::{EDGE_TAGS, Edge, Neighbors};
pub(crate) use numbers::CollectiveNumbers;
pub use numbers::PersistentStart;
pub use reduce::Reduce;
pub use reduce_scatter::ReduceScatter;
pub use scan::{Prefix, Scan};
pub use scatter::Scatter;
pub(crate) use sequence::{Swap, Then};
pub use short_alltoall::ShortAllToAll;
