//! `cargo xtask callgrind`: what a call of the direct path costs in instructions, and what it must not contain.

mod command;
mod profile;

pub(crate) use command::{Args, run};
