//! The engine of MPI one-sided communication.
//!
//! `rma-core` implements the one-sided chapter of MPI on an operation table (slots → targets → operations) that is fed from
//! two-level pools. It knows no process, launcher or communicator, and no transport: a [`host::Host`] gives it small
//! collectives, shared segments and the clock, a [`channel::Channel`] moves its packets.

#[doc(hidden)]
pub mod bugs;
pub mod channel;
pub mod config;
pub mod control;
pub mod datatype;
pub mod describe;
pub mod descriptors;
mod engine;
pub mod epoch;
pub mod error;
pub mod fork;
pub mod host;
pub mod ids;
pub mod kernel;
pub mod mem;
pub mod notification;
pub mod notify;
mod origin;
pub mod poller;
pub mod pool;
pub mod processor;
pub mod progress;
pub mod random;
mod state;
pub mod stats;
mod strategy;
mod sync;
mod table;
mod target;
pub mod trace;
pub mod window;
pub mod wire;

pub use engine::{Engine, ExternalWait, Inquiry};
pub use error::{Below, Error, ErrorClass, Result};
