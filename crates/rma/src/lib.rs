//! MPI one-sided communication for Rust programs.
//!
//! A [`World`] is all processes of a job: started by `rmarun -n N program` or another launcher, or a program
//! on its own as a job of one rank. Ranks expose memory in typed windows ([`window`]) and reach each other's memory inside
//! epochs; [`Communicator`] has the barriers and reductions around that.
//!
//! ```
//! rma::World::run_threads(4, |world| {
//!     let ranks = world.allgather(&[world.rank()])?;
//!     assert_eq!(ranks, [[0], [1], [2], [3]]);
//!     world.barrier()
//! })
//! .unwrap();
//! ```
//!
//! A program that begins with [`World::init`] is started by `rmarun -n 4 target/release/program` (`cargo install rma-mpi --features launcher`),
//! `mpirun` or `srun`. [`World::run_threads`] starts ranks as threads of one process, for tests and examples: nothing else has to run.
//!
//! [`guide`] says which epoch a program needs, and what is where for users of C and rsmpi; [`join`] is how a process joins a job, by any
//! launcher or runtime, or by a program's own way; [`channels`] is the registry of transports, and [`config`] the table of all variables.
//!
//! # Features
//!
//! None is there unless it is asked for.
//!
//! | feature | adds |
//! | --- | --- |
//! | `derive` | `#[derive(Element)]`: structs without padding as elements |
//! | `half`, `num-complex` | the numbers of these crates as elements |
//! | `bytemuck`, `zerocopy` | types that these crates hold for plain data as elements: `window::Pod`, `window::Plain` |
//! | `ndarray` | views of its arrays as buffers and [layouts](window::Layout) |
//! | `accelerated` | `RMA_TCP_AUTHENTICATE` by the processor's instructions for SHA-256, which hash 5.5 times as fast |
//! | `launcher` | the program `rmarun` |

// Hidden are the modules that other crates of this workspace need and programs do not: from below, `pmi` is the protocol of most launchers,
// `message` moves messages on the channels of the engine, `collective` makes collectives of them, `host` gives the engine what it needs
// from outside, and `raw` has their names for the C library.
mod agent;
mod alarm;
mod answering;
pub mod channels;
#[doc(hidden)]
pub mod collective;
mod communicator;
pub mod config;
mod cores;
mod descriptors;
mod elements;
mod ending;
mod group;
pub mod guide;
#[doc(hidden)]
pub mod host;
mod intercommunicator;
pub mod join;
#[cfg(feature = "launcher")]
#[doc(hidden)]
pub mod launch;
mod log;
#[doc(hidden)]
pub mod message;
mod network;
mod no_peers;
mod parting;
mod paths;
#[doc(hidden)]
pub mod pmi;
mod progress;
#[doc(hidden)]
pub mod raw;
mod runtime;
mod start;
mod threads;
mod trace;
mod wakers;
pub mod window;
mod world;

#[cfg(test)]
mod testing;

pub use communicator::{Agreed, Communicator, Envelope, Message, Receiving, Sending};
pub use group::{Comparison, Group};
pub use join::{Allgather, Start};
pub use log::log_to_stderr;
pub use rma_ch_sim::SimConfig;
#[doc(hidden)]
pub use rma_core::Below;
pub use rma_core::{Error, ErrorClass, Result};
#[cfg(feature = "derive")]
pub use rma_derive::Element;
pub use runtime::CollectiveRequest;
pub use window::{Element, Integer, LockKind, LockSet, Locked, Number, ReduceOp, Window};
pub use world::{Builder, World};

/// The programs of the pages for beginners, which are built and run with the other examples.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/start.md")]
#[doc = include_str!("../../../README.md")]
struct Pages;
