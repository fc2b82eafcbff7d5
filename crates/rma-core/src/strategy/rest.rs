//! The one place that lets the processor or the core go without sleeping.

use super::Next;
#[cfg(all(test, loom))]
use loom::{hint::spin_loop, thread::yield_now};
#[cfg(not(all(test, loom)))]
use std::{hint::spin_loop, thread::yield_now};

/// Does what comes next, unless that is a sleep, which is its caller's.
#[inline]
pub(crate) fn rest(next: Next) {
    match next {
        Next::Look | Next::Sleep => {}
        Next::Spin => spin_loop(),
        Next::Yield => yield_now(),
    }
}
