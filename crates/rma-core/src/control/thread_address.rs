//! An address for each thread of a process: no two that live at the same time have the same.

/// The calling thread's address; never 0.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
#[inline(always)]
pub(crate) fn thread_address() -> usize {
    let address: usize;
    // SAFETY: reads the first word of the thread's control block, which the psABI for ELF TLS on x86-64 puts at fs:0 in every
    // thread and makes the block's own address; nothing is written.
    unsafe {
        std::arch::asm!("mov {}, fs:[0]", out(reg) address, options(nostack, preserves_flags, readonly));
    }
    address
}

/// The calling thread's address; never 0.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
pub(crate) fn thread_address() -> usize {
    thread_local! {
        static ANCHOR: u8 = const { 0 };
    }
    ANCHOR.with(|anchor| std::ptr::from_ref(anchor).addr())
}
