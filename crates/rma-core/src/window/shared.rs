//! What the direct path needs of a window, readable without any lock: the ranks whose memory is mapped here, their control
//! blocks, and whether an access epoch is open to them.
//!
//! Made once at creation and immutable but for the atomic gates. The gates are written under the engine's lock by the
//! synchronization calls, and read relaxed by communication calls: a user thread that communicates has itself seen the
//! synchronization call return, or was told by one that has.

use crate::control::{ControlBlock, Holder};
use crate::error::{Error, ErrorClass, Result};
use crate::host::{Group, SegmentSet};
use crate::ids::{Disp, Rank, WindowId};
use crate::mem::WriteSpan;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// How a window came by its memory (MPI 3.1 §11.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// The user's memory (`MPI_WIN_FLAVOR_CREATE`).
    Create,
    /// The library's memory (`MPI_WIN_FLAVOR_ALLOCATE`).
    Allocate,
}

/// A rank whose window memory is mapped in this process.
pub(crate) struct Member {
    pub(crate) rank: Rank,
    /// The memory that the rank exposes.
    pub(crate) span: WriteSpan,
    /// Displacement unit in bytes; known from the end of creation on.
    pub(crate) unit: AtomicU64,
    pub(crate) control: ControlBlock,
    /// A lock on this rank is held.
    pub(crate) open: AtomicBool,
}

/// The lock-free part of a window.
pub(crate) struct Shared {
    pub(crate) id: WindowId,
    /// This process as lock words name it.
    pub(crate) holder: Holder,
    pub(crate) group: Group,
    pub(crate) flavor: Flavor,
    /// Ascending by rank.
    pub(crate) members: Box<[Member]>,
    /// This process's own place in `members`.
    pub(crate) own: usize,
    /// Size and displacement unit of every rank, when they are all the same.
    pub(crate) uniform: Option<(u64, u64)>,
    /// An epoch is open that reaches every rank.
    pub(crate) open_to_all: AtomicBool,
    /// Keeps everything mapped that `members` name.
    pub(crate) _segment: SegmentSet,
}

impl Member {
    /// The `len` bytes at displacement `disp`.
    #[inline]
    pub(crate) fn locate(&self, disp: Disp, len: u64) -> Result<WriteSpan, OutOfRange> {
        self.locate_behind(disp, 0, len)
    }

    /// The `len` bytes at `offset` bytes behind displacement `disp`.
    #[inline]
    pub(crate) fn locate_behind(&self, disp: Disp, offset: u64, len: u64) -> Result<WriteSpan, OutOfRange> {
        let size = self.span.len() as u64;
        let start = disp.0.checked_mul(self.unit.load(Relaxed)).and_then(|s| s.checked_add(offset));
        match start.and_then(|start| Some((start, start.checked_add(len)?))) {
            Some((start, end)) if end <= size => Ok(self.span.part(start as usize, len as usize)),
            _ => Err(OutOfRange { start: start.unwrap_or(u64::MAX), len, size }),
        }
    }
}

/// An access outside a window: first byte (saturated), number of bytes, and the window's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfRange {
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) size: u64,
}

impl OutOfRange {
    #[cold]
    pub(crate) fn into_error(self, call: &'static str, target: impl std::fmt::Display) -> Error {
        let Self { start, len, size } = self;
        let at = if start == u64::MAX { "a byte past 2^64".to_owned() } else { format!("byte {start}") };
        Error::new(
            ErrorClass::RmaRange,
            call,
            format!(
                "{len} bytes from {at} are not within the window of rank {target}, which has {size} bytes"
            ),
        )
    }
}

impl Shared {
    /// The mapped part of `rank`, if it has one: the direct path.
    #[inline]
    pub(crate) fn member(&self, rank: Rank) -> Option<&Member> {
        let first = self.members[0].rank.0;
        match self.members.get(rank.0.wrapping_sub(first) as usize) {
            Some(member) if member.rank == rank => Some(member),
            _ => self.member_by_search(rank),
        }
    }

    /// This process's own part.
    pub(crate) fn own(&self) -> &Member {
        &self.members[self.own]
    }

    /// Whether another rank than the own is mapped.
    pub(crate) fn maps_others(&self) -> bool {
        self.members.len() > 1
    }

    /// Whether an access epoch is open to `member`.
    #[inline]
    pub(crate) fn is_open(&self, member: &Member) -> bool {
        self.open_to_all.load(Relaxed) || member.open.load(Relaxed)
    }

    /// Checks a rank that came from a user.
    pub(crate) fn check_rank(&self, rank: Rank, call: &'static str) -> Result<()> {
        let size = self.group.size();
        if rank.0 < size {
            return Ok(());
        }
        Err(Error::new(ErrorClass::Rank, call, format!("target rank {rank} is not in 0..{size}")))
    }

    fn member_by_search(&self, rank: Rank) -> Option<&Member> {
        // Members are contiguous on most nodes, and then the look-up by difference has the only possible answer.
        let last = self.members[self.members.len() - 1].rank.0;
        if last - self.members[0].rank.0 == self.members.len() as u32 - 1 {
            return None;
        }
        self.members.binary_search_by_key(&rank, |m| m.rank).ok().map(|at| &self.members[at])
    }
}
