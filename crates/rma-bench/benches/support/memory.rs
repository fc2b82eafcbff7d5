//! Memory for benchmarks of `rma-core`, which works on spans.

use rma_core::mem::WriteSpan;

/// Zeroed, page-aligned memory that is never freed.
pub(crate) fn memory(len: usize) -> WriteSpan {
    let layout = std::alloc::Layout::from_size_align(len, 4096).expect("a benchmark's lengths are valid");
    // SAFETY: the length is not zero; the allocation is checked, never freed, and used only through the span.
    unsafe {
        let start = std::alloc::alloc_zeroed(layout);
        assert!(!start.is_null(), "no memory");
        // Touched, so that no page fault is measured.
        std::ptr::write_bytes(start, 1, len);
        WriteSpan::new(start, len)
    }
}
