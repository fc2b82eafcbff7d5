//! Memory of segments, private and shared. The one file of the host with `unsafe`.
//!
//! Invariant: a [`SegmentSet`] owns the mapping that its spans point into, so they are valid as long as it
//! lives; no reference to mapped bytes is formed.

use super::arena::Block;
use super::huge_pages::{self, HUGE};
use super::layout::{Range, SegmentLayout};
use memmap2::{MmapMut, MmapRaw};
use rma_ch_shm::segment::Mapping;
use rma_core::host::{SegmentControl, SegmentPart, SegmentRequest, SegmentSet};
use rma_core::ids::Rank;
use rma_core::mem::WriteSpan;
use rma_core::{Error, ErrorClass};
use rustix::mm::{Advice, madvise};
use std::sync::Arc;

/// A segment that only this process has, at a multiple of `align`: zeros, whose pages are taken when they are first touched.
pub(super) fn private(rank: Rank, layout: &SegmentLayout, align: u64) -> rma_core::Result<SegmentSet> {
    let no_memory = |cause: std::io::Error| {
        let cause = format!("no memory for a segment of {} bytes: {cause}", layout.len);
        Error::new(ErrorClass::NoMem, "win_allocate", cause)
    };
    // A mapping begins at a page.
    let len = layout.len.checked_add(align - SegmentRequest::PAGE).and_then(|len| usize::try_from(len).ok());
    let len = len.ok_or_else(|| no_memory(std::io::ErrorKind::OutOfMemory.into()))?;
    let map = MmapRaw::from(MmapMut::map_anon(len).map_err(no_memory)?);
    let start = map.as_mut_ptr();
    let gap = (start as usize).next_multiple_of(align as usize) - start as usize;
    // SAFETY: all of the anonymous mapping is readable and writable until `map` is dropped, and no reference
    // to it exists.
    let all = unsafe { WriteSpan::new(start, len) };
    let span = |range: Range| all.part(gap + range.offset as usize, range.len as usize);
    let part = layout.parts[0];
    ask_for_huge_pages(span(part.data).as_mut_ptr() as usize, part.data.len, align);
    let member = SegmentPart { rank, control: span(part.control), data: span(part.data) };
    // SAFETY: the spans point into `map`, which the set owns.
    Ok(unsafe { SegmentSet::new(vec![member], Box::new(map)) })
}

/// Asks the system to back private memory with huge pages as it is touched, if its length and alignment ask for them; where that is not
/// to be had, `RMA_DEBUG` shows why.
pub fn ask_for_huge_pages(address: usize, len: u64, align: u64) {
    if huge_pages::are_asked(len, align)
        && let Err(cause) = advise_huge_pages(address, len, false)
    {
        huge_pages::complain(&cause);
    }
}

/// Asks the system to back memory with huge pages as it is touched, which changes nothing else about it. The error says why it
/// will not.
pub(super) fn advise_huge_pages(address: usize, len: u64, is_shared: bool) -> Result<(), String> {
    let first = (address as u64).next_multiple_of(HUGE);
    let whole = (address as u64).saturating_add(len).saturating_sub(first) / HUGE * HUGE;
    if whole == 0 {
        return Ok(());
    }
    let start = std::ptr::with_exposed_provenance_mut(first as usize);
    // SAFETY: this advice changes neither content nor access of any memory, and of what is not mapped it is an error.
    let answer = unsafe { madvise(start, whole as usize, Advice::LinuxHugepage) };
    answer.map_err(|error| format!("the system takes no advice: {error}"))?;
    huge_pages::forbidden(is_shared).map_or(Ok(()), Err)
}

/// The bytes of a mapping of shared memory. Spans of it are made without `unsafe` within the host, where each
/// owner of a span keeps the bytes with it: a block its arena, a segment the bytes of its members.
#[derive(Clone, Debug)]
pub(super) struct Bytes(Arc<Mapping>);

impl Bytes {
    pub(super) fn new(mapping: Arc<Mapping>) -> Self {
        Self(mapping)
    }

    /// Address of the first byte.
    pub(super) fn address(&self) -> usize {
        self.part(0, 0).as_mut_ptr() as usize
    }

    /// Number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// The bytes from `offset` on.
    ///
    /// # Panics
    /// When they do not lie within the mapping.
    pub(super) fn part(&self, offset: u64, len: u64) -> WriteSpan {
        // SAFETY: each owner of the span keeps these bytes with it, and no references are formed (see the
        // type).
        unsafe { self.0.span(offset as usize, len as usize) }
    }

    /// Sets unused bytes to zero.
    pub(super) fn clear(&self, offset: u64, len: u64) {
        self.part(offset, len).clear();
    }
}

/// A segment whose spans lie in memory that `keeps` keeps: the bytes, and the blocks of them that are this rank's.
pub(super) fn set(
    members: Vec<SegmentPart>,
    neighbors: Vec<SegmentControl>,
    keeps: (Vec<Bytes>, Vec<Block>),
) -> SegmentSet {
    // SAFETY: every span is a part of one of the bytes, which the set owns.
    unsafe { SegmentSet::new(members, Box::new(keeps)).with_controls(neighbors) }
}
