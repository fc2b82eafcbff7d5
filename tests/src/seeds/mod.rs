//! The simulated world: random programs of the whole one-sided chapter, an oracle that knows what each must bring about,
//! and runs in virtual time or on real processes.
//!
//! A seed makes a [`Plan`]: a job (ranks, threads, windows, sizes of all pools and buffers, delays, pauses) and a
//! [`program::Program`] for it, which is a tree of phases, rounds, epochs and operations. Every subtree may be taken out and
//! what is left is a program again, so a failing one is made small ([`minimise`]). The outcome is not part of the program:
//! [`compile`] works it out, with a model of memory that shares nothing with the engine.
//!
//! The rules of access make outcomes defined: see [`program::Region`].

#[cfg(feature = "bugs")]
pub mod bugs;
mod calls;
mod chains;
pub mod check;
pub mod compile;
pub mod conflicts;
mod generate;
mod late;
pub mod makings;
mod memory;
pub mod minimise;
mod operations;
mod plan;
mod player;
pub mod processes;
pub mod program;
mod reference;
pub mod simulate;
mod text;
mod values;
mod windows;

pub use crate::draws::Pools;
pub use plan::{Plan, Schedules};
