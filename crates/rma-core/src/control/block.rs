//! The view over shared control memory; the one file of this module, tests apart, with `unsafe`.
//!
//! Invariant: the pointer of a [`ControlBlock`] is aligned and leads to as many bytes as its shape says, which the span's maker promised
//! to keep mapped; every field of [`Fields`] and each element of the parts behind it is atomic, so a shared reference to it asserts
//! nothing about its value.

use super::bulk::{Bulk, clear_announcements};
use super::cells::Stand;
use super::exclusion::UnalignedExclusion;
use super::layout::{ControlShape, Fields};
use super::lock::{Attempt, BlockLock, Grant, NotHeld, Wake};
use super::marks::Marks;
use super::meeting;
use super::notes::{NoteSlot, Notes, name_of};
use super::recovery::OfEngine;
use super::shim::AtomicU64;
use super::shim::Ordering::{Acquire, Relaxed, Release, SeqCst};
use super::state::{Holder, LockRequest, LockState};
use super::ticket::Ticket;
use super::unfinished::{Unfinished, UnfinishedList};
use crate::host::Vitals;
use crate::ids::{LockKind, Peer, Rank};
use crate::mem::WriteSpan;
use std::time::Duration;

/// Set in `flags` once the owner has published.
const IS_PUBLISHED: u64 = 1;
/// Set in `flags` when peers of the node can map the data.
const IS_MAPPED: u64 = 2;
/// Set in `flags` when the owner makes no call on the window any more.
const HAS_LEFT: u64 = 4;

/// One window's control block at one target, as mapped in this process. A copyable view, as long-lived as the span it was
/// made of.
#[derive(Clone, Copy, Debug)]
pub struct ControlBlock {
    fields: *const Fields,
    shape: ControlShape,
}

/// One of the parts behind the fields, as long-lived as the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockPart<T> {
    first: *const T,
    len: usize,
}

// SAFETY: as for `ControlBlock`: only types of atomics are in a part.
unsafe impl<T: Sync> Send for BlockPart<T> {}
// SAFETY: as for `ControlBlock`.
unsafe impl<T: Sync> Sync for BlockPart<T> {}

impl<T> BlockPart<T> {
    #[inline]
    pub(super) fn get(&self) -> &[T] {
        // SAFETY: `ControlBlock::part` has made it of bytes within the block, of which `ControlBlock::new` has checked alignment and
        // length; the rest as in `ControlBlock::fields`.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
    }
}

/// The state of one process towards the lock of one rank: a word in its control memory that only it writes,
/// as long-lived as that ([`super::cells`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockCell(*const AtomicU64);

// SAFETY: as for `ControlBlock`.
unsafe impl Send for LockCell {}
// SAFETY: as for `ControlBlock`.
unsafe impl Sync for LockCell {}

impl LockCell {
    /// In the control memory of a process, the cell for the lock of the rank at this place among those of the node; `None` when
    /// it has none for so many, or is not aligned.
    pub(crate) fn new(control: WriteSpan, shape: ControlShape, place: usize) -> Option<Self> {
        let start = shape.control_len().checked_add(place.checked_mul(size_of::<AtomicU64>())?)?;
        let is_there = start.checked_add(size_of::<AtomicU64>())? <= control.len();
        let cell = control.as_mut_ptr().cast_const().wrapping_add(start).cast::<AtomicU64>();
        (is_there && cell.is_aligned()).then_some(Self(cell))
    }

    #[inline]
    fn get(&self) -> &AtomicU64 {
        // SAFETY: `new` has checked that it lies in a span and is aligned; the rest as in `ControlBlock::fields`.
        unsafe { &*self.0 }
    }
}

// SAFETY: the block is a part of a `WriteSpan`, whose maker promised that any thread may access the memory; all fields are
// atomic.
unsafe impl Send for ControlBlock {}
// SAFETY: as for `Send`.
unsafe impl Sync for ControlBlock {}

/// What is alive, for [`ControlBlock::recount`].
pub(crate) struct Living<'a> {
    /// The cells of all processes of the node that live, for this lock.
    pub(crate) cells: &'a [LockCell],
    /// How many ranks the node has, with those that are dead.
    pub(crate) ranks: usize,
    /// This process, whose lock it is.
    pub(crate) owner: Holder,
    /// Whether a process is dead, of whatever node.
    pub(crate) is_dead: &'a dyn Fn(Peer) -> bool,
}

/// A call in which a process waits for a word of shared memory. At most one thread is in each, for one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Sleep {
    /// For all ranks to enter the fence.
    Fence = 1,
    /// For targets to post.
    Start = 2,
    /// For origins to be done.
    Wait = 4,
    /// For any of these.
    Any = 7,
}

/// What the owner of a window publishes for the peers of its node. Read from shared memory: a reader checks lengths
/// against what it has mapped itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// Length of the window's data in bytes.
    pub data_len: u64,
    /// Displacement unit in bytes.
    pub disp_unit: u64,
    /// Whether peers of the node can map the data, so that they operate on it directly.
    pub is_mapped: bool,
}

impl ControlBlock {
    /// The block at the start of `control`, zeroed when it was made; `None` when the span is shorter than
    /// [`ControlShape::control_len`] or not aligned to 64 bytes.
    pub fn new(control: WriteSpan, shape: ControlShape) -> Option<Self> {
        let fields = control.as_mut_ptr().cast_const().cast::<Fields>();
        (control.len() >= shape.control_len() && fields.is_aligned()).then_some(Self { fields, shape })
    }

    /// What it has room for.
    pub(super) fn shape(&self) -> ControlShape {
        self.shape
    }

    /// Takes the lock as [`ControlBlock::try_acquire`] does, for this process itself, whose cell it is.
    #[inline]
    #[must_use]
    pub(crate) fn try_acquire_own(&self, cell: &LockCell, request: LockRequest, holder: Holder) -> Attempt {
        self.stand(cell).try_acquire(request, holder)
    }

    /// [`ControlBlock::join`], likewise.
    pub(crate) fn join_own(&self, cell: &LockCell, request: LockRequest, holder: Holder) -> Ticket {
        self.stand(cell).join(request, holder)
    }

    /// [`ControlBlock::try_turn`], likewise.
    ///
    /// # Errors
    /// As [`ControlBlock::try_turn`].
    pub(crate) fn try_turn_own(&self, cell: &LockCell, ticket: Ticket) -> Result<Grant, Ticket> {
        self.stand(cell).try_turn(ticket)
    }

    /// [`ControlBlock::try_pass`], likewise.
    ///
    /// # Errors
    /// As [`ControlBlock::try_pass`].
    pub(crate) fn try_pass_own(
        &self,
        cell: &LockCell,
        ticket: Ticket,
        now: Duration,
    ) -> Result<Grant, Ticket> {
        self.stand(cell).try_pass(ticket, now)
    }

    /// [`ControlBlock::release`], likewise.
    ///
    /// # Errors
    /// As [`ControlBlock::release`].
    #[inline]
    pub(crate) fn release_own(
        &self,
        cell: &LockCell,
        kind: LockKind,
        holder: Holder,
    ) -> Result<Option<Wake>, NotHeld> {
        self.stand(cell).release(kind, holder)
    }

    /// [`ControlBlock::release_alone`], likewise.
    #[inline]
    pub(crate) fn release_alone_own(&self, cell: &LockCell, kind: LockKind, holder: Holder) -> bool {
        self.stand(cell).release_alone(kind, holder)
    }

    /// Gives up this process's request for the lock of an owner that is dead.
    pub(crate) fn give_up_own(&self, cell: &LockCell) {
        self.stand(cell).give_up();
    }

    /// Makes all changes of the lock but releases impossible: its owner is about to recount holders and
    /// waiters, or is dead.
    pub(crate) fn freeze(&self) {
        self.fields().lock.freeze();
    }

    /// Recounts holders and waiters of the lock, and thaws it. `None` when a live process is in the middle of
    /// a step: then it has to be tried again. After success all processes have to be woken. Called by the
    /// engine of the lock's owner.
    pub(crate) fn recount(&self, living: &Living<'_>, engine: &OfEngine) -> Option<Vec<Ticket>> {
        let cells = living.cells.iter().map(LockCell::get);
        self.lock().recount(cells, living.ranks, engine, living.owner, living.is_dead)
    }

    #[inline]
    fn stand<'a>(&'a self, cell: &'a LockCell) -> Stand<'a> {
        Stand { lock: self.lock(), cell: cell.get() }
    }

    #[inline]
    fn lock(&self) -> BlockLock<'_> {
        let slots = self.slice(ControlShape::DIRECTORY_AT, self.shape.directory());
        BlockLock { fields: &self.fields().lock, slots }
    }

    /// Takes the lock if that overtakes no other request (see [`LockRequest`]): one step on the lock word.
    /// `false` changes nothing.
    #[inline]
    #[must_use]
    pub fn try_acquire(&self, request: LockRequest, holder: Holder) -> bool {
        let entry = self.attempt(request, holder);
        if entry == Attempt::Bequeathed {
            self.bequeath();
        }
        entry.is_granted()
    }

    /// [`ControlBlock::try_acquire`] for a caller that can take the notice that a process died with the lock.
    pub(crate) fn attempt(&self, request: LockRequest, holder: Holder) -> Attempt {
        self.lock().try_acquire(request, holder)
    }

    /// The next grant carries the notice that a process died with the lock.
    pub(crate) fn bequeath(&self) {
        self.fields().lock.bequeath();
    }

    /// Joins the waiting requests. The ticket must be tried until it is granted.
    pub fn join(&self, request: LockRequest, holder: Holder) -> Ticket {
        self.join_for(request, holder, holder)
    }

    /// [`ControlBlock::join`] on behalf of an origin that does not map this block: the lock will be `holder`'s, and `wake`
    /// is the process to wake when the turn comes.
    pub fn join_for(&self, request: LockRequest, holder: Holder, wake: Holder) -> Ticket {
        self.lock().join_for(request, holder, wake)
    }

    /// Joins the line with a ticket that was made while the lock was frozen ([`Ticket::is_outside`]), if it is not any more.
    pub(crate) fn join_again(&self, ticket: Ticket) -> Ticket {
        self.lock().join_again(ticket)
    }

    /// Takes the lock if it is this ticket's turn.
    ///
    /// # Errors
    /// The ticket, when it has to wait on.
    pub fn try_turn(&self, ticket: Ticket) -> Result<Grant, Ticket> {
        self.lock().try_turn(ticket)
    }

    /// As [`ControlBlock::try_turn`], at time `now` of the node, also for a ticket that may pass the line.
    ///
    /// # Errors
    /// As [`ControlBlock::try_turn`]; [`Ticket::due`] says when the ticket has to be tried again without a
    /// wake.
    pub fn try_pass(&self, ticket: Ticket, now: Duration) -> Result<Grant, Ticket> {
        self.lock().try_pass(ticket, now)
    }

    /// Whether a ticket is the first in line: the next release is for it.
    pub(crate) fn is_first(&self, ticket: &Ticket) -> bool {
        self.fields().lock.is_first(ticket)
    }

    /// Releases the lock; answers which processes to wake.
    ///
    /// # Errors
    /// When the process does not hold the lock exclusively, or no process holds it shared; nothing is changed
    /// then.
    #[inline]
    pub fn release(&self, kind: LockKind, holder: Holder) -> Result<Option<Wake>, NotHeld> {
        self.lock().release(kind, holder)
    }

    /// Releases a lock that no other process holds or waits for, so that no wake-up is needed; otherwise does
    /// nothing and answers `false`.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn release_alone(&self, kind: LockKind, holder: Holder) -> bool {
        self.fields().lock.release_alone(kind, holder)
    }

    /// Which process holds the lock and how many wait, at some moment during the call.
    pub fn lock_state(&self) -> LockState {
        self.fields().lock.state()
    }

    /// The exclusion of unaligned accumulates on the window's memory, in the name of a process.
    #[inline]
    pub fn unaligned(&self, holder: Holder) -> UnalignedExclusion<'_> {
        UnalignedExclusion::new(&self.fields().exclusion, holder)
    }

    /// Publishes the window's facts for the peers of the node. Called once, by the owner.
    pub fn publish(&self, published: Published) {
        let fields = &self.fields().published.0;
        fields.data_len.store(published.data_len, Relaxed);
        fields.disp_unit.store(published.disp_unit, Relaxed);
        let flags = IS_PUBLISHED | if published.is_mapped { IS_MAPPED } else { 0 };
        // SYNC POINT published: read by `published` in the peers of the node.
        fields.flags.store(flags, Release);
    }

    /// What the owner published; `None` before.
    pub fn published(&self) -> Option<Published> {
        let fields = &self.fields().published.0;
        // SYNC POINT published: written by `publish` in the owner.
        let flags = fields.flags.load(Acquire);
        (flags & IS_PUBLISHED != 0).then(|| Published {
            data_len: fields.data_len.load(Relaxed),
            disp_unit: fields.disp_unit.load(Relaxed),
            is_mapped: flags & IS_MAPPED != 0,
        })
    }

    /// Says that the owner makes no call on the window any more.
    pub(crate) fn set_left(&self) {
        // SYNC POINT left: as for SYNC POINT asleep. It comes behind all that the owner has written for those that wait for it.
        self.fields().published.0.flags.fetch_or(HAS_LEFT, SeqCst);
    }

    /// Whether the owner has said so.
    pub(crate) fn has_left(&self) -> bool {
        self.fields().published.0.flags.load(SeqCst) & HAS_LEFT != 0
    }

    /// Publishes where the owner's counters of notification are in its control memory; before [`ControlBlock::publish`].
    pub(crate) fn publish_counters(&self, at: u64, capacity: u64) {
        let fields = &self.fields().published.0;
        fields.counters_at.store(at, Relaxed);
        fields.counters.store(capacity, Relaxed);
    }

    /// Where they are, and for how many there is room; zeros before the owner has published.
    #[inline]
    pub(crate) fn counters(&self) -> (u64, u64) {
        let fields = &self.fields().published.0;
        (fields.counters_at.load(Relaxed), fields.counters.load(Relaxed))
    }

    /// Publishes the owner's identity, and the number by which peers of the node find out whether it has ended.
    pub(super) fn introduce(&self, holder: Holder, vital: u64) {
        let fields = &self.fields().published.0;
        fields.holder.store(holder.code(), Relaxed);
        // SYNC POINT introduced: read by `vital_of` in the peers of the node.
        fields.vital.store(vital, Release);
    }

    /// The number of the owner, if it is the process of this code and has published one.
    pub(super) fn vital_of(&self, code: u64) -> Option<u64> {
        let fields = &self.fields().published.0;
        // SYNC POINT introduced: written by `introduce` in the owner.
        let vital = fields.vital.load(Acquire);
        (vital != 0 && fields.holder.load(Relaxed) == code).then_some(vital)
    }

    /// Whether the owner has ended; `false` while it has not published how to find out.
    pub(crate) fn has_owner_ended(&self, vitals: &Vitals) -> bool {
        // SYNC POINT introduced: written by `introduce` in the owner.
        let vital = self.fields().published.0.vital.load(Acquire);
        vital != 0 && (vitals.has_ended)(vital)
    }

    /// The owner's word of the meetings of a window's ranks; see [`meeting::Meeting`].
    #[inline]
    pub fn meeting(&self) -> meeting::Meeting<'_> {
        meeting::Meeting::new(&self.fields().meeting.0)
    }

    /// Says, in the owner's own block, that the owner may sleep in a call although it waits for a word of shared memory.
    #[inline]
    pub fn set_asleep(&self, call: Sleep) {
        // SYNC POINT asleep: the owner stores this before its last look at the word; a thread that changes
        // the word loads it afterwards. One of the two sees the other.
        self.fields().asleep.0.fetch_or(call as u64, SeqCst);
    }

    /// Says that the owner waits in that call no more.
    #[inline]
    pub fn set_awake(&self, call: Sleep) {
        if self.is_asleep(call) {
            self.fields().asleep.0.fetch_and(!(call as u64), SeqCst);
        }
    }

    /// Whether the owner has to be woken when a word that it waits for in that call has changed.
    #[inline]
    pub fn is_asleep(&self, call: Sleep) -> bool {
        self.fields().asleep.0.load(SeqCst) & call as u64 != 0
    }

    /// The ranks that have posted to the owner.
    #[inline]
    pub fn posts(&self) -> Marks<'_> {
        Marks::new(&self.fields().posts.0)
    }

    /// The ranks that are done with the owner's exposure epoch.
    #[inline]
    pub fn dones(&self) -> Marks<'_> {
        Marks::new(&self.fields().dones.0)
    }

    /// The words by which bulk accumulates on the owner's memory and steps of the processor exclude each other.
    #[inline]
    pub(super) fn bulk(&self, holder: Holder) -> Bulk<'_> {
        Bulk::new(&self.fields().bulk, holder)
    }

    /// The words in which the owner's threads announce steps.
    pub(super) fn announced(&self) -> BlockPart<AtomicU64> {
        self.part(self.shape.announced_at(), self.shape.announcers())
    }

    pub(super) fn announcements(&self) -> &[AtomicU64] {
        self.slice(self.shape.announced_at(), self.shape.announcers())
    }

    /// Frees the locks of accumulates on the owner's memory that a process holds, which must be dead: the exclusion and the
    /// stripes. Says whether it held some.
    pub fn clear_dead_accumulates(&self, dead: Holder) -> bool {
        let (exclusion, stripes) = (self.unaligned(dead).clear_dead(), self.bulk(dead).clear_dead());
        exclusion || stripes
    }

    /// Takes back what the owner has announced, which must be dead.
    pub fn clear_dead_announcements(&self) {
        clear_announcements(self.announcements());
    }

    /// The slots in which the owner's threads note what they change.
    pub(super) fn noted(&self) -> BlockPart<NoteSlot> {
        self.part(self.shape.notes_at(), self.shape.announcers())
    }

    /// The count of those that have none.
    #[inline]
    pub(super) fn changing_unnoted(&self) -> &AtomicU64 {
        &self.fields().changing_unnoted.0
    }

    /// What the owner, which must be the dead rank, was changing on the memory of a rank; each is reported
    /// once.
    pub(crate) fn take_notes(&self, dead: Rank, on: Rank) -> impl Iterator<Item = Unfinished> + '_ {
        let slots = self.slice(self.shape.notes_at(), self.shape.announcers());
        let notes = Notes { slots, others: self.changing_unnoted() };
        notes.take_of_dead(name_of(on), dead)
    }

    /// What dead processes have left on the owner's memory.
    pub(crate) fn unfinished(&self) -> &UnfinishedList {
        &self.fields().unfinished
    }

    /// The part of so many elements that begins at this byte, as the shape says.
    #[inline]
    fn part<T>(&self, at: usize, len: usize) -> BlockPart<T> {
        debug_assert!(at + len * size_of::<T>() <= self.shape.control_len());
        BlockPart { first: self.fields.cast::<u8>().wrapping_add(at).cast(), len }
    }

    /// The same, for as long as this view is borrowed.
    #[inline]
    fn slice<T>(&self, at: usize, len: usize) -> &[T] {
        let BlockPart { first, len } = self.part::<T>(at, len);
        // SAFETY: as in `BlockPart::get`.
        unsafe { std::slice::from_raw_parts(first, len) }
    }

    #[inline]
    fn fields(&self) -> &Fields {
        // SAFETY: `new` has checked alignment and length (no shape is shorter than `Fields`); the span's maker
        // promised that the memory stays mapped while parts of the span are used and that no reference to plain bytes
        // of it exists. Other processes may write it at any time, which atomics allow; any bits are valid.
        unsafe { &*self.fields }
    }
}
