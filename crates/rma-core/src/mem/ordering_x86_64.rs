//! Full orderings of a thread's memory accesses on x86-64, where every locked instruction is one, and the cheapest: `mfence`,
//! which compilers make of a fence, also waits for what no call here makes.

use std::arch::asm;
use std::sync::atomic::{Ordering::SeqCst, compiler_fence};

/// Orders all accesses of the calling thread before it before all after it: as `fence(SeqCst)`.
#[inline(always)]
pub(crate) fn full_ordering() {
    // SAFETY: changes no bit of the stack's word, which no other thread uses. The block may access all memory as far as the
    // compiler knows, so nothing is moved across it.
    unsafe { asm!("lock or dword ptr [rsp], 0", options(nostack)) }
}

/// The same where an atomic step of the calling thread lies between the accesses to be ordered too, just before it or just after
/// it: a read-modify-write is a locked instruction.
#[inline(always)]
pub(crate) fn full_ordering_beside_step() {
    compiler_fence(SeqCst);
}
