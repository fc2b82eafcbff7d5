//! `cargo xtask install`: the C library with what programs are built and started with, in a directory of the user's choice.
//!
//! The installation holds no path of itself: the programs and package files find the rest from where they lie, so it can be
//! moved, copied, or packed. Files are replaced as a whole; until all of them could be written nothing has changed.

mod command;
mod files;
mod packages;
mod stub;

pub(crate) use command::{Args, run};
