//! `cargo xtask callgrind`: what a call of the direct path costs in instructions, and what it must not contain.

mod c_calls;
mod command;
mod created_calls;
mod guest_calls;
mod profile;
mod run;
mod rust_calls;

pub(crate) use command::{Args, run};
