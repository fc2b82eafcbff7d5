//! The atomics of the control block, which the model checker replaces in its tests; in all tests a thread that uses them can die at
//! any step ([`super::mortal`]).

#[cfg(not(test))]
pub(super) use std::sync::atomic::AtomicU64;

#[cfg(test)]
pub(super) use super::mortal::AtomicU64;

#[cfg(not(all(test, loom)))]
pub(super) use std::sync::atomic::{Ordering, fence};

#[cfg(all(test, loom))]
pub(super) use loom::sync::atomic::{Ordering, fence};

/// Gives the core away for a while.
#[cfg(not(all(test, loom)))]
pub(super) fn sleep(time: std::time::Duration) {
    std::thread::sleep(time);
}

#[cfg(all(test, loom))]
pub(super) fn sleep(_: std::time::Duration) {
    loom::thread::yield_now();
}
