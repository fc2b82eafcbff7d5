//! Huge pages: when a program asks for them, and what is said where the system has none.
//!
//! Memory that is aligned to a huge page and has at least one asks for them. An arena takes pages that the system has set
//! aside, if there are enough; otherwise the system is asked to back ordinary memory with them as it is touched, which its
//! settings may forbid. No call fails for want of them.

use rma_core::host::SegmentRequest;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Bytes of a huge page.
pub(super) const HUGE: u64 = SegmentRequest::HUGE_PAGE;

/// Whether `RMA_DEBUG` wants a line, and none was written.
static IS_LINE_WANTED: AtomicBool = AtomicBool::new(false);

/// A line is to say why there are no huge pages.
pub(crate) fn want_line() {
    IS_LINE_WANTED.store(true, Relaxed);
}

/// Whether memory of this length and alignment asks for them.
pub(super) fn are_asked(len: u64, align: u64) -> bool {
    align >= HUGE && len >= HUGE
}

/// Says once, where it is wanted, what the system lacks.
pub(super) fn complain(cause: &str) {
    tracing::info!("huge pages: {cause}");
    if IS_LINE_WANTED.swap(false, Relaxed) {
        eprintln!("rma: no huge pages for memory that is aligned to them: {cause}");
    }
}

/// The system's setting that forbids to back memory with them as it is touched, if one does.
pub(super) fn forbidden(is_shared: bool) -> Option<String> {
    let name = if is_shared { "shmem_enabled" } else { "enabled" };
    let path = format!("/sys/kernel/mm/transparent_hugepage/{name}");
    let text = fs::read_to_string(&path).ok()?;
    let chosen = text.split(['[', ']']).nth(1)?;
    matches!(chosen, "never" | "deny").then(|| format!("{path} says {chosen}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_asked_for_by_memory_that_has_one() {
        for (len, align, expected) in
            [(HUGE, HUGE, true), (HUGE - 1, HUGE, false), (64 << 20, HUGE / 2, false), (0, HUGE, false)]
        {
            assert_eq!(are_asked(len, align), expected, "{len} bytes at {align}");
        }
    }
}
