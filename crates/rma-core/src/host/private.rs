//! Segments that are not shared: zeroed memory of this process, for hosts that cannot map memory of others,
//! or may not.
//!
//! Invariant: no reference to the bytes is ever formed; they are reached through spans alone.

use super::{SegmentPart, SegmentRequest, SegmentSet};
use crate::ids::Rank;
use crate::mem::WriteSpan;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// An allocation, given back when it is dropped.
struct Region {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: an allocation has no owner among threads, and its bytes are reached through spans alone, which any thread may use.
unsafe impl Send for Region {}
// SAFETY: as for `Send`.
unsafe impl Sync for Region {}

impl SegmentSet {
    /// What `request` asks for, at `rank` alone: an answer to [`super::Host::begin_segment`] that needs no word with other
    /// ranks. `None` when the system has no such memory. Not for requests that
    /// [must be shared](super::SegmentKind::must_be_shared), unless the group has no other rank.
    pub fn private(rank: Rank, request: &SegmentRequest) -> Option<Self> {
        let control = Region::new(request.control_len, SegmentRequest::PAGE)?;
        let data = Region::new(request.own_len(), request.data_align)?;
        let part = SegmentPart {
            rank,
            control: control.span(request.control_len),
            data: data.span(request.own_len()),
        };
        // SAFETY: the spans lie in the regions, which live as long as the set; no references to them are
        // formed.
        Some(unsafe { Self::new(vec![part], Box::new((control, data))) })
    }
}

impl Region {
    /// `len` zero bytes at a multiple of `align`.
    fn new(len: u64, align: u64) -> Option<Self> {
        let layout = Layout::from_size_align(usize::try_from(len).ok()?.max(1), align as usize).ok()?;
        // SAFETY: the layout has at least one byte.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { start, layout })
    }

    fn span(&self, len: u64) -> WriteSpan {
        // SAFETY: the allocation has that many bytes, and users of the span hold the set, which holds the
        // region.
        unsafe { WriteSpan::new(self.start.as_ptr(), len as usize) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and given back once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::SegmentKind;

    #[test]
    fn private_segments_are_zeroed_aligned_and_refused_when_too_large() {
        let data_align = SegmentRequest::HUGE_PAGE;
        let request = |data_len, kind| SegmentRequest {
            control_len: 100,
            data_len,
            data_align,
            kind,
            given: WriteSpan::EMPTY,
        };
        let segment = SegmentSet::private(Rank(3), &request(5000, SegmentKind::Separate)).unwrap();
        let [part] = segment.parts() else { panic!("one part") };
        assert_eq!((part.rank, part.control.len(), part.data.len()), (Rank(3), 100, 5000));
        assert_eq!(part.data.as_mut_ptr() as u64 % data_align, 0);
        let mut bytes = [9; 5000];
        part.data.as_read().read(&mut bytes);
        assert!(bytes.iter().all(|byte| *byte == 0));
        let given = SegmentSet::private(Rank(0), &request(5000, SegmentKind::Given)).unwrap();
        assert!(given.parts()[0].data.is_empty());
        assert!(SegmentSet::private(Rank(0), &request(u64::MAX, SegmentKind::Private)).is_none());
    }
}
