//! Full orderings of a thread's memory accesses beside atomic steps on x86-64, where a read-modify-write is a locked instruction and
//! every locked instruction is a full ordering.

use std::sync::atomic::{Ordering::SeqCst, compiler_fence};

/// Orders all accesses of the calling thread before this one against all after it, where an atomic
/// read-modify-write of that thread lies between them too, just before this or just after.
#[inline(always)]
pub(crate) fn full_ordering_beside_step() {
    compiler_fence(SeqCst);
}

/// Whether loads and atomic read-modify-writes are in order by themselves, so that plain stores alone are to be ordered before later
/// loads.
pub(crate) const ONLY_STORES_LAG: bool = true;

/// Stores two words side by side, in one instruction: a process that is killed has made both stores or none.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn store_both(words: &[std::sync::atomic::AtomicU64; 2], values: [u64; 2]) {
    // SAFETY: 16 bytes that any thread may store to. What another one reads is whole words: they are aligned, and the processor splits
    // a store between words at most.
    unsafe {
        std::arch::asm!(
            "movq {pair}, {first}",
            "movq {upper}, {second}",
            "punpcklqdq {pair}, {upper}",
            "movups [{to}], {pair}",
            to = in(reg) words.as_ptr(), first = in(reg) values[0], second = in(reg) values[1],
            pair = out(xmm_reg) _, upper = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}
