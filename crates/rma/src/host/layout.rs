//! Where each rank's part of a segment lies: control blocks first, then the data.
//!
//! Both kinds of memory, shared and private, are laid out by this file, and every rank of a node computes the same.

use rma_core::host::{SegmentKind, SegmentRequest};
use rma_core::{Error, ErrorClass, Result};

/// Control blocks are whole cache lines.
const LINE: u64 = 64;
/// Data that others map lies on pages of its own, so that placing and touching it is the owner's.
const PAGE: u64 = SegmentRequest::PAGE;

/// A segment's parts, in the order of the ranks that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentLayout {
    pub(super) parts: Vec<RankPart>,
    pub(super) len: u64,
}

/// One rank's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RankPart {
    pub(super) control: Range,
    pub(super) data: Range,
}

/// Bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) offset: u64,
    pub(super) len: u64,
}

impl SegmentLayout {
    /// Lays out the parts that ranks have asked for, as (control, data) lengths; data begin at a multiple of `align` in memory that
    /// does.
    ///
    /// # Errors
    /// When the sum is more than any memory has.
    pub(super) fn new(asked: &[(u64, u64)], kind: SegmentKind, align: u64) -> Result<Self> {
        Self::try_new(asked, kind, align).ok_or_else(|| {
            let asked = asked.iter().map(|(control, data)| u128::from(*control) + u128::from(*data));
            let cause = format!("{} ranks ask for {} bytes together", asked.len(), asked.sum::<u128>());
            Error::new(ErrorClass::NoMem, "win_allocate", cause)
        })
    }

    fn try_new(asked: &[(u64, u64)], kind: SegmentKind, data_align: u64) -> Option<Self> {
        let mut end = 0u64;
        let mut take = |len: u64, align: u64| {
            let offset = end.checked_next_multiple_of(align)?;
            end = offset.checked_add(len).filter(|end| *end <= i64::MAX as u64)?;
            Some(Range { offset, len })
        };
        let controls: Option<Vec<_>> = asked.iter().map(|(control, _)| take(*control, LINE)).collect();
        take(0, data_align)?;
        let align = match kind {
            SegmentKind::Contiguous => 1,
            SegmentKind::Separate
            | SegmentKind::Scattered
            | SegmentKind::Given
            | SegmentKind::Control
            | SegmentKind::Private => data_align,
        };
        let data: Option<Vec<_>> = asked.iter().map(|(_, data)| take(*data, align)).collect();
        let len = take(0, PAGE)?.offset.max(PAGE); // no memory of length 0
        let parts = controls?.into_iter().zip(data?).map(|(control, data)| RankPart { control, data });
        Some(Self { parts: parts.collect(), len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap_and_are_aligned() {
        let asked = [(100, 10), (0, 0), (64, 5000), (1, 1)];
        let kinds =
            [SegmentKind::Separate, SegmentKind::Scattered, SegmentKind::Private, SegmentKind::Contiguous];
        for (kind, align) in kinds.into_iter().flat_map(|kind| [PAGE, 2 << 20].map(|align| (kind, align))) {
            let layout = SegmentLayout::new(&asked, kind, align).unwrap();
            let mut end = 0;
            for part in layout.parts.iter().map(|p| p.control).chain(layout.parts.iter().map(|p| p.data)) {
                assert!(part.offset >= end);
                end = part.offset + part.len;
            }
            assert!(end <= layout.len && layout.len.is_multiple_of(PAGE));
            for (part, (control, data)) in layout.parts.iter().zip(asked) {
                assert_eq!((part.control.len, part.data.len), (control, data));
                assert_eq!(part.control.offset % LINE, 0);
                assert!(kind == SegmentKind::Contiguous || part.data.offset % align == 0);
            }
            if kind == SegmentKind::Contiguous {
                assert_eq!(layout.parts[0].data.offset % align, 0);
                for pair in layout.parts.windows(2) {
                    assert_eq!(pair[0].data.offset + pair[0].data.len, pair[1].data.offset);
                }
            }
        }
        assert_eq!(SegmentLayout::new(&[(0, 0)], SegmentKind::Separate, PAGE).unwrap().len, PAGE);
    }

    #[test]
    fn what_does_not_fit_any_memory_is_an_error() {
        for asked in [[(0, u64::MAX), (0, 1)], [(u64::MAX, 0), (0, 0)], [(0, 1 << 62), (0, 1 << 62)]] {
            let error = SegmentLayout::new(&asked, SegmentKind::Contiguous, PAGE).unwrap_err();
            assert_eq!(error.class(), ErrorClass::NoMem);
        }
    }
}
