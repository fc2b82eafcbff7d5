//! The world of this process: its rank, and whether windows are taken over.

use std::ffi::c_int;
use std::sync::atomic::{
    AtomicBool, AtomicI32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

static IS_RUNNING: AtomicBool = AtomicBool::new(false);
static RANK: AtomicI32 = AtomicI32::new(0);
static SIZE: AtomicI32 = AtomicI32::new(1);

/// The host has said which rank this is.
pub(crate) fn know(rank: c_int, size: c_int) {
    RANK.store(rank, Relaxed);
    SIZE.store(size, Relaxed);
}

/// From now on windows are taken over.
pub(crate) fn open() {
    IS_RUNNING.store(true, Release);
}

/// From now on nothing is; says whether it was.
pub(crate) fn close() -> bool {
    IS_RUNNING.swap(false, AcqRel)
}

/// Whether windows are taken over.
pub(crate) fn is_running() -> bool {
    IS_RUNNING.load(Acquire)
}

/// The rank in the world.
pub(crate) fn rank() -> c_int {
    RANK.load(Relaxed)
}

/// A number that no other rank makes of any number.
pub(crate) fn unique(number: c_int) -> c_int {
    number.wrapping_mul(SIZE.load(Relaxed)).wrapping_add(rank()) & (c_int::MAX >> 1)
}
