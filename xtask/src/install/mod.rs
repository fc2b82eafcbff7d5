//! `cargo xtask install`: the C library with what programs are built and started with, in a directory of the user's choice.
//!
//! The installation holds no path of itself: the programs and package files find the rest from where they lie, so it can be
//! moved, copied, or packed. Files are replaced as a whole; until all of them could be written nothing has changed. A manifest
//! says what was put, for `cargo xtask uninstall`.

mod command;
mod files;
mod manifest;
mod packages;
mod stub;
mod uninstall;

pub(crate) use command::{Args, run};
pub(crate) use uninstall::{Args as UninstallArgs, run as uninstall};
