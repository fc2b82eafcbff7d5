//! Jobs of 10⁵ simulated ranks: what an engine and an idle window weigh, and how many packets calls cost.
//!
//! Ranks are step scripts in virtual time, all on one thread. Memory is counted by its user: the allocator
//! notes with every block whether an engine, a channel or a host was at work, so that what is said of engines
//! is exact and what the simulation itself needs is not in it.

mod job;
mod script;
mod tagged;
pub mod weigh;

pub use job::{Measured, measure};
pub use script::{PHASES, Phase};
