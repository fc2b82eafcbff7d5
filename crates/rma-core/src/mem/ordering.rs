//! Full orderings of a thread's memory accesses beside atomic steps, as every processor has them.

use std::sync::atomic::{Ordering::SeqCst, fence};

/// Orders all accesses of the calling thread before this one against all after it, where an atomic
/// read-modify-write of that thread lies between them too, just before this or just after: some processors
/// order with each such step.
#[inline(always)]
pub(crate) fn full_ordering_beside_step() {
    fence(SeqCst);
}

/// Whether loads and atomic read-modify-writes are in order by themselves, so that plain stores alone are to be ordered before later
/// loads.
pub(crate) const ONLY_STORES_LAG: bool = false;
