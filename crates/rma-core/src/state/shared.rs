//! What the direct path needs of a window, readable without any lock: the ranks whose memory is mapped here, their control
//! blocks, and whether an access epoch is open to them.
//!
//! Made once at creation and immutable but for the atomic gates and the access state of [`super::access`].

use super::fast_sync::FastCalls;
use super::{
    AccessState, FastSync, FenceGate, Hints, LearntMemory, MappedCounts, NodeRank, OutOfRange, Regions,
    Single, StoreFence, ThreadLevel, Use,
};
use crate::control::{
    Domain, Holder, LockCell, LockKind, LockRequest, Marks, NodeDomain, TargetDomain, Wake,
};
use crate::datatype::{Layout, Scatter};
use crate::error::{Error, Result};
use crate::fork::InChild;
use crate::host::{Group, SegmentSet};
use crate::ids::{Disp, Rank, WindowId};
use crate::mem::{WriteSpan, full_ordering_beside_step};
use crate::notification::Notification;
use crate::wire::{Area, TargetPlace};
use parking_lot::Mutex;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst, fence};

/// How a window came by its memory (MPI 3.1 §11.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// The user's memory (`MPI_WIN_FLAVOR_CREATE`).
    Create,
    /// The library's memory (`MPI_WIN_FLAVOR_ALLOCATE`).
    Allocate,
    /// The library's memory, mapped by every rank (`MPI_WIN_FLAVOR_SHARED`).
    Shared,
    /// Memory that is attached later (`MPI_WIN_FLAVOR_DYNAMIC`).
    Dynamic,
}

/// A rank whose window memory is mapped in this process.
///
/// Aligned, so that a place in a row of them is a shift away, and what calls on mapped memory look at lies on two lines.
#[repr(align(128))]
pub(crate) struct MappedTarget {
    pub(crate) node_rank: NodeRank,
    /// The memory that the rank exposes.
    pub(crate) span: WriteSpan,
    pub(crate) scale: Scale,
    /// What is known to each process that changes its elements.
    pub(crate) target_domain: TargetDomain,
    /// The attached memory of a dynamic window, which has no span.
    pub(crate) regions: Option<Box<Regions>>,
}

/// What a displacement is in bytes; known from the end of creation on.
pub(crate) struct Scale {
    unit: AtomicU64,
    /// The greatest displacement that is not past the memory's end.
    last: AtomicU64,
}

impl Scale {
    pub(crate) fn new(unit: u64, memory: WriteSpan) -> Self {
        let scale = Self { unit: AtomicU64::new(0), last: AtomicU64::new(0) };
        scale.set(unit, memory);
        scale
    }

    pub(crate) fn set(&self, unit: u64, memory: WriteSpan) {
        self.unit.store(unit, Relaxed);
        // With a unit of 0, which others may claim to have, every displacement is the first byte.
        self.last.store((memory.len() as u64).checked_div(unit).unwrap_or(u64::MAX), Relaxed);
    }

    /// Displacement unit in bytes.
    #[inline]
    pub(crate) fn unit(&self) -> u64 {
        self.unit.load(Relaxed)
    }

    /// The byte of a displacement that is not past the memory's end.
    #[inline(always)]
    pub(crate) fn within(&self, disp: Disp) -> Option<u64> {
        (disp.0 <= self.last.load(Relaxed)).then(|| disp.0.wrapping_mul(self.unit()))
    }
}

/// The lock-free part of a window.
pub(crate) struct Shared {
    pub(crate) id: WindowId,
    /// This process as lock words name it.
    pub(crate) holder: Holder,
    pub(crate) group: Group,
    pub(crate) flavor: Flavor,
    /// Ascending by rank.
    pub(crate) mapped: Arc<[MappedTarget]>,
    /// Those that calls may reach without the engine's lock: `mapped`, or none while tracing is on (`trace`).
    pub(crate) fast: Arc<[MappedTarget]>,
    /// Those that communication calls may reach without the engine: `fast`, or none where they are counted.
    pub(crate) silent: Arc<[MappedTarget]>,
    /// The counts.
    pub(crate) mapped_counts: Option<Box<MappedCounts>>,
    /// The other ranks of the node, ascending.
    pub(crate) node_targets: Box<[NodeRank]>,
    /// What each rank of the node, ascending, is to this process's lock.
    pub(crate) cells: Box<[(Rank, LockCell)]>,
    /// The rank of the first mapped target.
    pub(crate) first: Rank,
    /// This process's own place in `mapped`.
    pub(crate) own: usize,
    /// What changing their elements takes.
    pub(crate) node_domain: NodeDomain,
    /// Size and displacement unit of every rank, when they are all the same.
    pub(crate) uniform: Option<(u64, u64)>,
    /// The epoch of a fence, which reaches every rank.
    pub(crate) fence_gate: FenceGate,
    /// The access side: its state, and the gates of the ranks of the node.
    pub(crate) access: AccessState,
    /// Stores of the direct path that are still to be ordered.
    pub(crate) store_fence: StoreFence,
    /// Active synchronization without the engine's lock.
    pub(crate) active: FastSync,
    /// The counters by which stores tell their target.
    pub(crate) notification: Notification,
    /// Whether there may be a pack that the next small store can join: most have none to join, and ask without the engine.
    pub(crate) has_pack: AtomicBool,
    /// What the program has said of its use of the window.
    pub(crate) hints: Mutex<Hints>,
    /// Whether a call goes on that was given up: blocking calls come behind it.
    pub(crate) has_dropped: AtomicBool,
    /// Keeps the memory mapped that `mapped` names.
    pub(crate) _segment: SegmentSet,
}

/// Keeps the memory of a window that is being accessed: mapped, and attached.
#[derive(Clone)]
pub(crate) struct Held {
    _shared: Arc<Shared>,
    _use: Option<Use>,
}

impl InChild for Shared {
    fn bar(&self) {
        self.access.own();
        self.active.set_calls(FastCalls::default());
    }
}

impl Deref for MappedTarget {
    type Target = NodeRank;

    #[inline]
    fn deref(&self) -> &NodeRank {
        &self.node_rank
    }
}

impl MappedTarget {
    /// Keeps attached memory attached while it is accessed outside the engine's lock: taken before the memory is looked up,
    /// dropped after the access.
    #[inline]
    pub(crate) fn pin(&self) -> Option<Use> {
        self.regions.as_deref().map(Regions::begin_use)
    }

    /// The `len` bytes at displacement `disp`.
    #[inline]
    pub(crate) fn locate(&self, disp: Disp, len: u64) -> Result<WriteSpan, OutOfRange> {
        self.locate_behind(disp, 0, len)
    }

    /// The `len` bytes at `offset` bytes behind displacement `disp`.
    #[inline]
    pub(crate) fn locate_behind(&self, disp: Disp, offset: u64, len: u64) -> Result<WriteSpan, OutOfRange> {
        let size = self.span.len() as u64;
        let start = disp.0.checked_mul(self.scale.unit()).and_then(|s| s.checked_add(offset));
        match start.and_then(|start| Some((start, start.checked_add(len)?))) {
            Some((start, end)) if end <= size => Ok(self.span.part(start as usize, len as usize)),
            _ => self.locate_attached(start, len),
        }
    }

    #[cold]
    fn locate_attached(&self, start: Option<u64>, len: u64) -> Result<WriteSpan, OutOfRange> {
        let (start, size) = (start.unwrap_or(u64::MAX), self.span.len() as u64);
        self.regions
            .as_ref()
            .map_or(Err(OutOfRange { start, len, size }), |regions| regions.locate(start, len))
    }
}

impl MappedTarget {
    /// The `len` bytes at `place`.
    pub(crate) fn locate_place(&self, place: &TargetPlace, len: u64) -> Result<Scatter, OutOfRange> {
        match &place.area {
            Area::Run { offset } => self.locate_behind(place.disp, *offset, len).map(Scatter::span),
            Area::Shape { layout, from } => {
                let layout: &Layout = layout;
                let start = place.disp.0.checked_mul(self.scale.unit());
                let end = from.checked_add(len).filter(|end| *end <= layout.size());
                if let (Some(regions), Some(end)) = (&self.regions, end) {
                    let part = regions.locate_part(start, layout, *from..end, Regions::MOST_STEPS);
                    return part.map(Scatter::into_owned);
                }
                let all =
                    start.and_then(|start| Scatter::within(self.span, i64::try_from(start).ok()?, layout));
                let out = || OutOfRange::of_layout(start, layout, self.span.len() as u64);
                let mut all = all.ok_or_else(out)?;
                let _before = all.split_to(*from);
                Ok(all.split_to(len).into_owned())
            }
        }
    }

    /// The bytes from the first to the last of a layout that lies within the window: where they begin, and how many there are.
    pub(crate) fn extent(&self, disp: Disp, layout: &Layout) -> (u64, u64) {
        let (low, high) = layout.bounds();
        (disp.0.wrapping_mul(self.scale.unit()).wrapping_add_signed(low), (high - low) as u64)
    }

    /// The bytes of `layout` counted from displacement `disp`, if all of them lie within the window. Made where it is used: moved, it
    /// would be read in other pieces than it was just written in.
    #[inline(always)]
    pub(crate) fn locate_layout<'l>(
        &self,
        disp: Disp,
        layout: &'l Layout,
    ) -> Result<Scatter<&'l Layout>, OutOfRange> {
        let base = self.base_of_layout(disp, layout)?;
        // SAFETY: every byte of the layout is one of the window's span, or of spans that are attached, whose makers promised what the
        // constructor wants.
        Ok(unsafe { Scatter::new(base, layout) })
    }

    /// Where the offsets of such a layout count from.
    #[inline]
    fn base_of_layout(&self, disp: Disp, layout: &Layout) -> Result<*mut u8, OutOfRange> {
        let start = disp.0.checked_mul(self.scale.unit());
        if let Some(regions) = &self.regions {
            return regions.base_of_layout(start, layout);
        }
        start
            .and_then(|start| Scatter::<&Layout>::base_within(self.span, i64::try_from(start).ok()?, layout))
            .ok_or_else(|| OutOfRange::of_layout(start, layout, self.span.len() as u64))
    }
}

/// A lock call of the user as a request in line. A shared request of one that holds another lock passes the line.
#[inline]
pub(crate) fn request_of(kind: LockKind, holds_another: bool) -> LockRequest {
    match kind {
        LockKind::Exclusive => LockRequest::Exclusive,
        LockKind::Shared if holds_another => LockRequest::SharedHolding,
        LockKind::Shared => LockRequest::Shared,
    }
}

impl Shared {
    /// The mapped part of `rank`, if it has one and calls may reach it without the engine's lock: the direct path.
    #[inline]
    pub(crate) fn fast(&self, rank: Rank) -> Option<&MappedTarget> {
        match self.fast.get(rank.0.wrapping_sub(self.first.0) as usize) {
            Some(mapped) if mapped.rank == rank => Some(mapped),
            _ => self.by_search_of(&self.fast, rank),
        }
    }

    /// The mapped part of `rank`, if it has one and communication calls may reach it without the engine.
    #[inline]
    pub(crate) fn silent(&self, rank: Rank) -> Option<&MappedTarget> {
        match self.silent.get(rank.0.wrapping_sub(self.first.0) as usize) {
            Some(mapped) if mapped.rank == rank => Some(mapped),
            _ => self.by_search_of(&self.silent, rank),
        }
    }

    /// The mapped part of `rank`, if it has one.
    #[inline]
    pub(crate) fn mapped(&self, rank: Rank) -> Option<&MappedTarget> {
        match self.mapped.get(rank.0.wrapping_sub(self.first.0) as usize) {
            Some(mapped) if mapped.rank == rank => Some(mapped),
            _ => self.mapped_by_search(rank),
        }
    }

    /// Whether this process holds the lock of a rank of the node alone.
    pub(crate) fn holds_alone(&self) -> bool {
        let is_alone =
            |node_rank: &NodeRank| node_rank.gate.single() == Single::Held(Some(LockKind::Exclusive));
        self.access.word().locks() > 0 && self.node_ranks().any(is_alone)
    }

    /// Whether calls reach every rank of the window without the engine's lock.
    pub(crate) fn are_all_fast(&self) -> bool {
        self.fast.len() == self.group.size() as usize
    }

    /// Whether the locks of all ranks of the window are words that calls reach without the engine's lock.
    pub(crate) fn are_all_fast_to_lock(&self) -> bool {
        !self.fast.is_empty() && self.mapped.len() + self.node_targets.len() == self.group.size() as usize
    }

    /// Whether an epoch of locks is open in which calls reach every rank without the engine's lock: only
    /// lock_all and locks open the gates of single mapped targets, among them the own rank's.
    pub(crate) fn are_all_locked(&self) -> bool {
        self.are_all_fast() && self.own().gate.is_locked()
    }

    /// This process's own part.
    pub(crate) fn own(&self) -> &MappedTarget {
        &self.mapped[self.own]
    }

    /// Which elements of a mapped target's memory are changed in which way.
    #[inline]
    pub(crate) fn domain<'a>(&'a self, mapped: &'a MappedTarget) -> Domain<'a> {
        self.node_domain.domain(&mapped.target_domain)
    }

    /// Keeps this rank's memory for an access that lasts beyond the engine's lock. Taken under the same hold of the lock as
    /// the memory was found.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        Held { _shared: Arc::clone(self), _use: self.own().pin() }
    }

    /// Whether another rank than the own is mapped.
    pub(crate) fn maps_others(&self) -> bool {
        self.mapped.len() > 1
    }

    /// The mapped part of another rank that receives posts and dones by marks in shared memory, and its place
    /// among those.
    pub(crate) fn marked(&self, rank: Rank) -> Option<(usize, &MappedTarget)> {
        let place = self.mapped.binary_search_by_key(&rank, |mapped| mapped.rank).ok()?;
        let has_bits = place.max(self.own) < Marks::PLACES;
        (has_bits && place != self.own).then(|| (place, &self.mapped[place]))
    }

    /// Whether some rank of the group is reached by packets.
    pub(crate) fn has_packet_targets(&self) -> bool {
        self.mapped.len() < self.group.size() as usize
    }

    /// Whether an access epoch is open to `mapped`, for a communication call.
    #[inline]
    pub(crate) fn is_open(&self, mapped: &MappedTarget) -> bool {
        mapped.gate.is_open() || self.fence_gate.passes()
    }

    /// Locks a rank of the node without the engine's lock; `false` when the call has to take the slow path. Nothing is changed then.
    #[inline]
    pub(crate) fn try_lock(&self, node_rank: &NodeRank, kind: LockKind, no_check: bool) -> bool {
        let Some(others) = self.access.try_enter(&node_rank.gate) else { return false };
        if !no_check && !node_rank.try_acquire(request_of(kind, others > 0), self.holder) {
            self.access.leave(&node_rank.gate);
            return false;
        }
        // SYNC POINT L2
        self.order_beside_step(!no_check);
        self.access.hold(&node_rank.gate, (!no_check).then_some(kind));
        true
    }

    /// Unlocks a mapped rank that no other process holds or waits for, without the engine's lock; `false`,
    /// and nothing done, when the call has to take the slow path.
    #[inline]
    pub(crate) fn try_unlock_alone(&self, mapped: &MappedTarget) -> bool {
        if self.access.is_owned() {
            return false;
        }
        let Some(held) = self.access.begin_release(&mapped.gate) else { return false };
        // SYNC POINT L1
        self.order_beside_step(true);
        if !held.is_some_and(|kind| mapped.release_alone(kind, self.holder)) {
            self.access.hold(&mapped.gate, held);
            return false;
        }
        self.access.leave(&mapped.gate);
        true
    }

    /// Unlocks a mapped rank without the engine's lock and answers which processes to wake; `None` when the
    /// call has to take the slow path.
    #[inline]
    pub(crate) fn try_unlock(&self, mapped: &MappedTarget) -> Option<Option<Wake>> {
        if self.access.is_owned() { None } else { self.unlock(mapped) }
    }

    /// Releases the single lock of a rank of the node and answers which processes to wake; `None` when it is
    /// not locked.
    #[inline]
    pub(crate) fn unlock(&self, node_rank: &NodeRank) -> Option<Option<Wake>> {
        let held = self.access.begin_release(&node_rank.gate)?;
        Some(self.end_release(node_rank, held))
    }

    /// Gives back what [`AccessState::begin_release`] has answered for a rank of the node, and answers which
    /// processes to wake.
    #[inline]
    pub(crate) fn end_release(&self, node_rank: &NodeRank, held: Option<LockKind>) -> Option<Wake> {
        // SYNC POINT L1
        self.order_beside_step(held.is_some());
        let wake = held.and_then(|kind| node_rank.release(kind, self.holder).ok().flatten());
        self.access.leave(&node_rank.gate);
        wake
    }

    /// Orders all accesses before it before all after it, beside the step on a lock word, if there is one, or that on a gate.
    #[inline]
    fn order_beside_step(&self, has_word: bool) {
        if has_word || self.access.level() == ThreadLevel::Multiple {
            full_ordering_beside_step();
        } else {
            fence(SeqCst);
        }
    }

    /// Size and displacement unit of a rank's memory, if this process knows them: those of all ranks, what one of the node has
    /// published, or what another one has answered. The memory of a dynamic window has neither.
    #[inline]
    pub(crate) fn memory_of(&self, rank: Rank, learnt: &LearntMemory) -> Option<(u64, u64)> {
        if self.uniform.is_some() { self.uniform } else { self.memory_of_one(rank, learnt) }
    }

    #[inline(never)]
    fn memory_of_one(&self, rank: Rank, learnt: &LearntMemory) -> Option<(u64, u64)> {
        if self.flavor == Flavor::Dynamic {
            return None;
        }
        let Some(node_target) = self.node_target(rank) else { return learnt.of(rank) };
        node_target.control.published().map(|published| (published.data_len, published.disp_unit))
    }

    /// The first byte of `len` bytes at a rank's displacement, if this process knows it; `None` when they are
    /// outside the window.
    #[inline]
    pub(crate) fn start_of(
        &self,
        learnt: &LearntMemory,
        rank: Rank,
        disp: Disp,
        len: usize,
    ) -> Option<Option<u64>> {
        let Some((size, unit)) = self.memory_of(rank, learnt) else { return Some(None) };
        let start = disp.0.checked_mul(unit)?;
        let end = start.checked_add(len as u64)?;
        (end <= size).then_some(Some(start))
    }

    /// Checks a rank that came from a user.
    pub(crate) fn check_rank(&self, rank: Rank, call: &'static str) -> Result<()> {
        let size = self.group.size();
        if rank.0 < size {
            return Ok(());
        }
        Err(Error::rank_outside(call, "target rank", rank.0.into(), size))
    }

    fn by_search_of(&self, mapped: &[MappedTarget], rank: Rank) -> Option<&MappedTarget> {
        if mapped.is_empty() { None } else { self.mapped_by_search(rank) }
    }

    fn mapped_by_search(&self, rank: Rank) -> Option<&MappedTarget> {
        // Mapped targets are contiguous on most nodes, and then the look-up by difference has the only possible answer.
        let last = self.mapped[self.mapped.len() - 1].rank.0;
        if last - self.mapped[0].rank.0 == self.mapped.len() as u32 - 1 {
            return None;
        }
        self.mapped.binary_search_by_key(&rank, |m| m.rank).ok().map(|at| &self.mapped[at])
    }
}
