//! The contract of channels as tests: one or more tests per clause of [`channel`](super), run against any implementation.
//!
//! A channel's crate implements [`Fixture`] (how to make a few channels that reach each other inside the test process) and
//! instantiates the suite with [`channel_conformance!`](crate::channel_conformance), once per configuration worth testing;
//! the smallest buffers are always one of them. This folder is compiled only with the feature `conformance`.
//!
//! How it works: a [`Bench`] makes worlds of ranks that one test thread drives in turn; the tests of clause C6 move ranks
//! to threads of their own. A ledger knows every packet that was committed, so each arrival is checked for order, length,
//! and every byte at the moment it arrives. Every memory is overwritten as soon as the contract says that the channel is
//! done with it, so a late access shows as wrong bytes.

mod bench;
mod c1_order;
mod c2_commit;
mod c3_room;
mod c4_memory;
mod c5_budget;
mod c6_sleep;
mod c7_failure;
mod c8_usage;
mod fixture;
mod lanes;
mod ledger;
mod memory;
mod r_remote;
mod rank;
mod recorder;
mod suite;
mod world;

pub use bench::Bench;
pub use fixture::{Fixture, Sleeper};
pub use suite::{Test, run};

#[doc(hidden)]
pub mod tests;
