//! Shared heap memory of segments: zeroed, aligned, and freed when the last rank has let go of it.
//!
//! Invariant: no reference to the bytes is ever formed; they are reached through spans only, whose holders keep the region.

use rma_core::mem::WriteSpan;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Memory that ranks share.
#[derive(Debug)]
pub(crate) struct Region {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a region is an allocation without an owner among threads; its bytes are reached through spans only, which are
// made for access from any thread.
unsafe impl Send for Region {}
// SAFETY: as for `Send`.
unsafe impl Sync for Region {}

impl Region {
    /// `len` zero bytes at a multiple of `align`; `None` when the system has no such memory.
    pub(crate) fn new(len: u64, align: usize) -> Option<Self> {
        let layout = Layout::from_size_align(usize::try_from(len).ok()?.max(1), align).ok()?;
        // SAFETY: the layout has at least one byte.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { start, layout })
    }

    /// `len` bytes from `offset`, valid as long as the region.
    ///
    /// # Panics
    /// When they do not lie in the region.
    pub(crate) fn span(&self, offset: u64, len: u64) -> WriteSpan {
        // SAFETY: the allocation has that many bytes, and each user of the span holds the region (the file's
        // invariant).
        let all = unsafe { WriteSpan::new(self.start.as_ptr(), self.layout.size()) };
        all.part(offset as usize, len as usize)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_zeroed_aligned_and_refused_when_too_large() {
        for (len, align) in [(0, 64), (1, 4096), (10_000, 4096)] {
            let region = Region::new(len, align).unwrap();
            let mut bytes = vec![9; len as usize];
            let span = region.span(0, len);
            assert_eq!(span.as_mut_ptr() as usize % align, 0);
            span.as_read().read(&mut bytes);
            assert!(bytes.iter().all(|b| *b == 0));
        }
        assert!(Region::new(u64::MAX, 64).is_none());
        assert!(Region::new(1 << 62, 64).is_none());
    }
}
