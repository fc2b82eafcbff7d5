//! The access side of a window: the one owner of its state, and the gates that it writes.

mod gates;
#[cfg(all(test, loom))]
mod loom_tests;
mod state;

pub(crate) use gates::{FenceGate, Gate, Single};
pub(crate) use state::{AccessState, ThreadLevel};
