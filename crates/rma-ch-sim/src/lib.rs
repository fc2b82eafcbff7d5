//! An in-process channel and host: ranks as threads in real time, or as scheduled actors in virtual time.
//!
//! A [`SimNet`] is the network of one job. It gives each rank a [`SimChannel`] and a [`SimHost`], which keep the contracts
//! of `rma_core::channel` and `rma_core::host` without any system facility: packets are heap memory, bulk bodies are copied
//! straight from the sender's memory by the receiver's poll, segments are shared heap memory, and collectives are counters.
//!
//! * In **real time** ([`SimNet::real_time`]) ranks are threads, which sleep in the engine's poller like processes do.
//! * In **virtual time** ([`SimNet::virtual_time`]) one thread runs all ranks as step scripts ([`SimWorld`]).
//!   Every choice (latencies, which rank runs next) follows from a seed, so a failing run is replayed by its
//!   seed: drawn evenly, or made by an [`Adversary`]. Deadlocks are found and reported with what each rank
//!   waits for.
//!
//! Memory: O(1) per rank, plus per pair in contact. The crate knows no window, lock or datatype.

mod adversary;
mod bell;
mod channel;
mod collective;
mod config;
mod connection;
mod dice;
mod exposed;
mod host;
mod hub;
mod memory;
mod net;
mod pair;
mod time;
mod world;

pub use adversary::Adversary;
pub use channel::SimChannel;
pub use config::SimConfig;
pub use host::SimHost;
pub use net::SimNet;
pub use time::Latency;
pub use world::{Actor, Context, Fault, SimWorld, Step, Stuck, WorldReport};
