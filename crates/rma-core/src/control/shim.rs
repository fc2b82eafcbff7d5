//! The atomics of the control block, which the model checker replaces in its tests.

#[cfg(not(all(test, loom)))]
pub(super) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering, fence},
    thread::yield_now,
};

#[cfg(all(test, loom))]
pub(super) use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering, fence},
    thread::yield_now,
};
