//! A segment that a host in C hands over: filled part by part, checked, and released after its last use.

use crate::abi::{Segment, SegmentPart};
use rma_ch_c::outside;
use rma_core::host::{self, SegmentKind, SegmentRequest, SegmentSet};
use rma_core::ids::Rank;
use rma_core::mem::WriteSpan;
use rma_core::{Error, ErrorClass, Result};
use std::ffi::{c_int, c_void};

/// A segment in the making. C sees its first field.
#[repr(C)]
pub(crate) struct Making {
    head: Segment,
    parts: Vec<SegmentPart>,
    /// Ranks of which only control memory is mapped.
    controls: Vec<SegmentPart>,
}

/// A cache line, to which control memory is aligned.
#[repr(align(64))]
struct Line;

/// Calls the host's function when the segment is used no more.
struct Release {
    function: unsafe extern "C" fn(*mut c_void),
    memory: *mut c_void,
}

// SAFETY: the embedder's promise: the function may be called from any thread.
unsafe impl Send for Release {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl Sync for Release {}

impl Drop for Release {
    fn drop(&mut self) {
        // SAFETY: the host's function with what the host gave for it, once.
        outside(|| unsafe { (self.function)(self.memory) });
    }
}

impl Making {
    pub(crate) fn new() -> Self {
        let size = size_of::<Segment>();
        let head =
            Segment { size, add, release: None, memory: std::ptr::null_mut(), add_control, is_counted: 0 };
        Self { head, parts: Vec::new(), controls: Vec::new() }
    }

    pub(crate) fn as_ptr(&mut self) -> *mut Segment {
        std::ptr::from_mut(self).cast()
    }

    /// The segment, if it is what was asked for at rank `me`.
    pub(crate) fn finish(self, me: Rank, asked: &SegmentRequest) -> Result<SegmentSet> {
        let Self { head, parts, controls } = self;
        // From here on it is released in any case.
        let release = head.release.map(|function| Release { function, memory: head.memory });
        let refuse =
            |cause: String| Error::new(ErrorClass::Intern, "host", format!("the host's segment {cause}"));
        let ascends = |parts: &[SegmentPart]| parts.windows(2).all(|pair| pair[0].rank < pair[1].rank);
        if !ascends(&parts) || !ascends(&controls) {
            return Err(refuse("has its parts in no ascending order".to_owned()));
        }
        if let Some(twice) =
            controls.iter().find(|control| parts.iter().any(|part| part.rank == control.rank))
        {
            return Err(refuse(format!("has rank {} twice", twice.rank)));
        }
        let Some(own) = parts.iter().find(|part| part.rank == me.0) else {
            return Err(refuse(format!("leaves out rank {me}, which asked for it")));
        };
        if asked.kind != SegmentKind::Given && own.data_len != asked.data_len {
            return Err(refuse(format!(
                "has {} bytes for {} that were asked for",
                own.data_len, asked.data_len
            )));
        }
        for part in parts.iter().chain(&controls) {
            if part.control.is_null()
                || part.control_len < asked.control_len
                || !part.control.cast::<Line>().is_aligned()
            {
                return Err(refuse(format!("has bad control memory for rank {}", part.rank)));
            }
            let is_too_long = part.data_len > isize::MAX as u64 || part.control_len > isize::MAX as u64;
            if is_too_long || (part.data.is_null() && part.data_len > 0) {
                return Err(refuse(format!("has bad window memory for rank {}", part.rank)));
            }
        }
        let aligned = match asked.kind {
            SegmentKind::Given => None,
            SegmentKind::Contiguous => parts.iter().find(|part| part.data_len > 0),
            _ => Some(own).filter(|own| own.data_len > 0),
        };
        if let Some(part) = aligned.filter(|part| !(part.data as u64).is_multiple_of(asked.data_align)) {
            let (rank, align) = (part.rank, asked.data_align);
            return Err(refuse(format!("has window memory for rank {rank} that is not aligned to {align}")));
        }
        // SAFETY: the host's promise: memory mapped until it is released.
        let span = |start: *mut c_void, len: u64| unsafe { WriteSpan::new(start.cast(), len as usize) };
        let mapped = parts.iter().map(|part| host::SegmentPart {
            rank: Rank(part.rank),
            control: span(part.control, part.control_len),
            data: span(part.data, part.data_len),
        });
        let controls = controls.iter().map(|part| host::SegmentControl {
            rank: Rank(part.rank),
            control: span(part.control, part.control_len),
        });
        let (mapped, controls) = (mapped.collect(), controls.collect());
        // SAFETY: as above; and no references to it are formed, by the same promise.
        let set = unsafe { SegmentSet::new(mapped, Box::new(release)).with_controls(controls) };
        Ok(if head.is_counted != 0 { set.counted() } else { set })
    }
}

unsafe extern "C" fn add_control(segment: *mut Segment, rank: u32, control: *mut c_void, len: u64) -> c_int {
    if segment.is_null() {
        return ErrorClass::Arg as c_int;
    }
    let part = SegmentPart { rank, control, control_len: len, data: std::ptr::null_mut(), data_len: 0 };
    // SAFETY: as in `add`.
    unsafe { (*segment.cast::<Making>()).controls.push(part) };
    0
}

unsafe extern "C" fn add(segment: *mut Segment, part: *const SegmentPart) -> c_int {
    if segment.is_null() || part.is_null() {
        return ErrorClass::Arg as c_int;
    }
    // SAFETY: C gives back the address that it got, of the first field of a `Making` that lives until the host's function
    // returns, and its own part.
    unsafe { (*segment.cast::<Making>()).parts.push(*part) };
    0
}
