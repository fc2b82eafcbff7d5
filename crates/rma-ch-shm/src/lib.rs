//! Shared memory between the processes of one node: a channel, and the segments of the direct path.
//!
//! [`ShmChannel`] moves packets through rings that two processes have mapped. Each process listens on a Unix socket whose
//! name is in no file system; first contact hands over the memory with the rings, and a doorbell. After that no system
//! call is made but to wake a process that sleeps. [`segment`] makes memory that windows lie in, and hands it to peers of the node.
//!
//! What a process of another user, or of another job, can reach are the sockets' names: a process that does
//! not know the job's secret is turned away before anything of it is looked at. A process of this job may
//! write anything into the memory it shares with this one: that costs it the connection, never this process.
//!
//! `crates/rma-ch-shm/wire.md` has the shared bytes and messages.
//!
//! The way of a packet: [`ShmChannel`] → `link` (one peer: two lanes out, two lanes in) → `ring` (records in lines) →
//! `block` (words and bytes of shared memory).

mod block;
mod channel;
#[forbid(unsafe_code)]
mod config;
#[forbid(unsafe_code)]
mod contacts;
#[forbid(unsafe_code)]
mod handshake;
#[cfg(all(test, not(loom)))]
mod hostile;
#[forbid(unsafe_code)]
mod identity;
#[forbid(unsafe_code)]
mod layout;
#[forbid(unsafe_code)]
mod link;
mod reception;
#[forbid(unsafe_code)]
mod ring;
pub mod segment;
mod sockets;
#[cfg(all(test, not(loom)))]
mod testing;

pub use channel::{ShmChannel, ShmSettings};
pub use config::{Directory, ShmConfig};
