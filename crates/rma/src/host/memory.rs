//! Memory of segments, private and shared. The one file of the host with `unsafe`.
//!
//! Invariant: a [`SegmentSet`] owns the mapping that its spans point into, so they are valid as long as it lives; nobody
//! forms a reference to mapped bytes.

use super::layout::{Range, SegmentLayout};
use memmap2::{MmapMut, MmapRaw};
use rma_ch_shm::segment::Mapping;
use rma_core::host::{SegmentMember, SegmentSet};
use rma_core::ids::Rank;
use rma_core::mem::WriteSpan;
use rma_core::{Error, ErrorClass, Result};

/// A segment that only this process has: zeros, whose pages are taken when they are first touched.
pub(super) fn private(rank: Rank, layout: &SegmentLayout) -> Result<SegmentSet> {
    let no_memory = |cause: std::io::Error| {
        let cause = format!("no memory for a segment of {} bytes: {cause}", layout.len);
        Error::new(ErrorClass::NoMem, "win_allocate", cause)
    };
    let len = usize::try_from(layout.len).map_err(|_| no_memory(std::io::ErrorKind::OutOfMemory.into()))?;
    let map = MmapRaw::from(MmapMut::map_anon(len).map_err(no_memory)?);
    let start = map.as_mut_ptr();
    // SAFETY: all of the anonymous mapping is readable and writable until `map` is dropped, and nobody has a reference.
    let span =
        |range: Range| unsafe { WriteSpan::new(start, len) }.part(range.offset as usize, range.len as usize);
    let part = layout.parts[0];
    let member = SegmentMember { rank, control: span(part.control), data: span(part.data) };
    // SAFETY: the spans point into `map`, which the set owns.
    Ok(unsafe { SegmentSet::new(vec![member], Box::new(map)) })
}

/// A segment that these ranks share, in ascending order.
pub(super) fn shared(ranks: &[Rank], layout: &SegmentLayout, mapping: Mapping) -> SegmentSet {
    // SAFETY: the spans go into the set that owns the mapping.
    let span = |range: Range| unsafe { mapping.span(range.offset as usize, range.len as usize) };
    let members = ranks.iter().zip(&layout.parts);
    let members = members
        .map(|(rank, part)| SegmentMember { rank: *rank, control: span(part.control), data: span(part.data) })
        .collect();
    // SAFETY: the spans point into `mapping`, which the set owns; they name all of its bytes at most.
    unsafe { SegmentSet::new(members, Box::new(mapping)) }
}
