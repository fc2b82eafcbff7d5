//! Full orderings of a thread's memory accesses on x86-64, where every locked instruction is one. `mfence`, which compilers make of
//! a fence, takes about twice as long, because it also waits for what no call here makes; and so does a locked instruction on
//! the word at the stack's top, which is the address that the function returns to and is read again at once.

use std::arch::asm;
use std::mem::MaybeUninit;
use std::sync::atomic::{Ordering::SeqCst, compiler_fence};

/// Orders all accesses of the calling thread before it before all after it: as `fence(SeqCst)`.
#[inline(always)]
pub(crate) fn full_ordering() {
    let mut word = MaybeUninit::<u32>::uninit();
    // SAFETY: changes no bit of a word of its own, whatever is in it. The block may access all memory as far as the compiler
    // knows, so nothing is moved across it.
    unsafe { asm!("lock or dword ptr [{}], 0", in(reg) word.as_mut_ptr(), options(nostack)) }
}

/// The same where an atomic step of the calling thread lies between the accesses to be ordered too, just before it or just after
/// it: a read-modify-write is a locked instruction.
#[inline(always)]
pub(crate) fn full_ordering_beside_step() {
    compiler_fence(SeqCst);
}
