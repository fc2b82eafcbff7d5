//! Memory for unit tests of modules that forbid `unsafe`.

use super::WriteSpan;
use std::alloc::{Layout, alloc_zeroed};

/// Zeroed memory of `len` bytes at a multiple of 64 that is never freed, so that its span has no end of life.
pub(crate) fn memory(len: usize) -> WriteSpan {
    let layout = Layout::from_size_align(len.max(1), 64).expect("tests ask for little memory");
    // SAFETY: the size is not zero; the allocation is checked, never freed, and reached through the span alone.
    unsafe {
        let start = alloc_zeroed(layout);
        assert!(!start.is_null(), "no memory for a test");
        WriteSpan::new(start, len)
    }
}

/// A copy of a span's bytes.
pub(crate) fn bytes(span: WriteSpan) -> Vec<u8> {
    let mut bytes = vec![0; span.len()];
    span.as_read().read(&mut bytes);
    bytes
}
