//! Where each field of a control block lies. Fixed offsets and widths: the block is shared between processes.
//!
//! Hot words have cache lines of their own: the head of the line is polled by everybody who waits and must not move with
//! each change of the lock word or each newcomer at the tail.

use super::bulk::ANNOUNCERS;
use super::notes::Notes;
use super::shim::AtomicU64;
use super::unfinished::List;

/// Bytes of control memory for one window at one target, without cells ([`super::cells`]).
pub const CONTROL_LEN: usize = 1728;

/// Bytes of control memory for one window at one target on a node with so many ranks of the window.
pub(crate) const fn control_len(ranks: usize) -> usize {
    CONTROL_LEN + (ranks * size_of::<u64>()).next_multiple_of(64)
}

/// Places in the directory of the waiting line: more than the processes of a usual node, two cache lines.
pub(super) const SLOTS: usize = 16;

/// Words of a set of marks: a cache line.
pub(super) const MARK_WORDS: usize = 8;

/// Stripes of a window that bulk accumulates lock.
pub(super) const STRIPES: usize = if cfg!(all(test, loom)) { 2 } else { 16 };

/// A field with a cache line of its own.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Line<T>(pub(super) T);

/// The whole block. All zeros is the fresh state.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Fields {
    /// Lock word and waiting line.
    pub(super) lock: LockFields,
    /// Holder of the exclusion of unaligned accumulates; 0 when free.
    pub(super) exclusion: Line<AtomicU64>,
    /// What the owner published.
    pub(super) published: Line<PublishedFields>,
    /// The owner's fences in a window whose ranks all map each other.
    pub(super) meeting: Line<AtomicU64>,
    /// In which calls the owner sleeps, or may, while it waits for a word in shared memory to change; bits.
    pub(super) asleep: Line<AtomicU64>,
    /// Which ranks have posted to the owner: turned over by each that does.
    pub(super) posts: Line<[AtomicU64; MARK_WORDS]>,
    /// Which ranks are done with the owner's exposure epoch, likewise.
    pub(super) dones: Line<[AtomicU64; MARK_WORDS]>,
    /// Bulk accumulates on the owner's memory.
    pub(super) bulk: BulkFields,
    /// The steps that the owner's threads are just doing on any rank's memory.
    pub(super) announced: Line<[AtomicU64; ANNOUNCERS]>,
    /// What the owner's threads are just changing on any rank's memory.
    pub(super) notes: Notes,
    /// What dead processes have left on the owner's memory.
    pub(super) unfinished: List,
    // Behind it are the cells of the owner, for each rank of the node.
}

/// Lock word and waiting line.
#[derive(Debug)]
#[repr(C)]
pub(super) struct LockFields {
    /// [`super::state::LockState`], encoded.
    pub(super) word: Line<AtomicU64>,
    /// Next ticket to give out.
    pub(super) tail: Line<AtomicU64>,
    /// Ticket whose turn it is.
    pub(super) head: Line<HeadFields>,
    /// Who holds which ticket, as a hint; see [`super::directory`].
    pub(super) slots: [AtomicU64; SLOTS],
}

/// The head of the line.
#[derive(Debug)]
#[repr(C)]
pub(super) struct HeadFields {
    /// Its ticket.
    pub(super) ticket: AtomicU64,
    /// Since when requests beside the line have met it; see [`super::patience`].
    pub(super) since: AtomicU64,
}

/// Words of [`super::bulk`].
#[derive(Debug)]
#[repr(C)]
pub(super) struct BulkFields {
    /// How elements are changed. Read with each step, and written rarely.
    pub(super) regime: Line<AtomicU64>,
    /// Who holds each stripe; 0 when free.
    pub(super) stripes: [AtomicU64; STRIPES],
}

/// What the owner published at window creation.
#[derive(Debug)]
#[repr(C)]
pub(super) struct PublishedFields {
    /// Bits of `flags` in [`super::block`]; 0 until published.
    pub(super) flags: AtomicU64,
    /// Length of the window's data in bytes.
    pub(super) data_len: AtomicU64,
    /// Displacement unit in bytes.
    pub(super) disp_unit: AtomicU64,
    /// The owner, as it stands in words that it holds.
    pub(super) holder: AtomicU64,
    /// What its siblings ask with whether it has ended; 0 until it has said, or when they cannot.
    pub(super) vital: AtomicU64,
}

#[cfg(all(test, loom))]
impl LockFields {
    pub(super) fn new() -> Self {
        Self {
            word: Line(AtomicU64::new(0)),
            tail: Line(AtomicU64::new(0)),
            head: Line(HeadFields { ticket: AtomicU64::new(0), since: AtomicU64::new(0) }),
            slots: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

#[cfg(all(test, loom))]
impl BulkFields {
    pub(super) fn new() -> Self {
        Self { regime: Line(AtomicU64::new(0)), stripes: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

#[cfg(not(all(test, loom)))]
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Fields, lock) == 0);
    assert!(offset_of!(LockFields, tail) == 64);
    assert!(offset_of!(LockFields, head) == 128);
    assert!(offset_of!(LockFields, slots) == 192);
    assert!(offset_of!(Fields, exclusion) == 320);
    assert!(offset_of!(Fields, published) == 384);
    assert!(offset_of!(Fields, meeting) == 448);
    assert!(offset_of!(Fields, asleep) == 512);
    assert!(offset_of!(Fields, posts) == 576);
    assert!(offset_of!(Fields, dones) == 640);
    assert!(offset_of!(Fields, bulk) == 704);
    assert!(offset_of!(BulkFields, stripes) == 64);
    assert!(offset_of!(Fields, announced) == 896);
    assert!(offset_of!(Fields, notes) == 960);
    assert!(offset_of!(Fields, unfinished) == 1280);
    assert!(size_of::<Fields>() == CONTROL_LEN);
    assert!(align_of::<Fields>() == 64 && CONTROL_LEN.is_multiple_of(64));
};
