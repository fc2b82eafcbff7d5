//! Where each field of a control block lies. Fixed offsets and widths: the block is shared between processes.
//!
//! Hot words have cache lines of their own: every waiting process polls the head of the line, which must not
//! move with each change of the lock word or each newcomer at the tail.

//!
//! ```text
//! +--------+-----------+---------------+-------+-------+
//! | Fields | directory | announcements | notes | cells |
//! +--------+-----------+---------------+-------+-------+
//! ```
//!
//! How long the parts behind the fields are is configured ([`ControlShape`]), but for the cells, of which each rank of the node has one.

use super::notes::NoteSlot;
use super::shim::AtomicU64;
use super::unfinished::UnfinishedList;
use crate::config::EngineConfig;

/// Most words in which the threads of a process announce steps.
pub(super) const MOST_ANNOUNCERS: usize = 256;

/// How many of what a control block has one of for each thread or waiter; the same in all processes that map it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlShape {
    directory: u16,
    announcers: u16,
}

impl ControlShape {
    /// As the variables say.
    pub fn of(config: &EngineConfig) -> Self {
        Self::new(config.lock_directory, config.announcers)
    }

    /// With so many places in the directory of the waiting line, and words for announcements.
    pub fn new(directory: u64, announcers: u64) -> Self {
        Self {
            directory: directory.clamp(1, u64::from(u16::MAX)) as u16,
            announcers: announcers.clamp(1, MOST_ANNOUNCERS as u64) as u16,
        }
    }

    /// Places in the directory of the waiting line.
    #[inline]
    pub(super) fn directory(self) -> usize {
        self.directory.into()
    }

    /// Words for announcements, and slots for notes.
    #[inline]
    pub(super) fn announcers(self) -> usize {
        self.announcers.into()
    }

    /// Where the directory begins.
    pub(super) const DIRECTORY_AT: usize = size_of::<Fields>();

    /// Where the announcements begin.
    pub(super) fn announced_at(self) -> usize {
        Self::DIRECTORY_AT + lines::<AtomicU64>(self.directory())
    }

    /// Where the notes begin.
    pub(super) fn notes_at(self) -> usize {
        self.announced_at() + lines::<AtomicU64>(self.announcers())
    }

    /// Bytes of control memory for one window at one target, without cells ([`super::cells`]).
    pub fn control_len(self) -> usize {
        self.notes_at() + lines::<NoteSlot>(self.announcers())
    }

    /// The same on a node with so many ranks of the window.
    pub(crate) fn control_len_with_cells(self, ranks: usize) -> usize {
        self.control_len() + lines::<AtomicU64>(ranks)
    }
}

/// Bytes of whole cache lines that so many take.
fn lines<T>(number: usize) -> usize {
    (number * size_of::<T>()).next_multiple_of(64)
}

/// Words of a set of marks: a cache line.
pub(super) const MARK_WORDS: usize = 8;

/// Stripes of a window that bulk accumulates lock.
pub(super) const STRIPES: usize = if cfg!(all(test, loom)) { 2 } else { 16 };

/// A field with a cache line of its own.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct CacheLine<T>(pub(super) T);

/// The whole block. All zeros is the fresh state.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Fields {
    /// Lock word and waiting line.
    pub(super) lock: LockFields,
    /// Holder of the exclusion of unaligned accumulates; 0 when free.
    pub(super) exclusion: CacheLine<AtomicU64>,
    /// What the owner published.
    pub(super) published: CacheLine<PublishedFields>,
    /// The owner's fences in a window whose ranks all map each other.
    pub(super) meeting: CacheLine<AtomicU64>,
    /// In which calls the owner sleeps, or may, while it waits for a word in shared memory to change; bits.
    pub(super) asleep: CacheLine<AtomicU64>,
    /// Which ranks have posted to the owner: turned over by each that does.
    pub(super) posts: CacheLine<[AtomicU64; MARK_WORDS]>,
    /// Which ranks are done with the owner's exposure epoch, likewise.
    pub(super) dones: CacheLine<[AtomicU64; MARK_WORDS]>,
    /// Bulk accumulates on the owner's memory.
    pub(super) bulk: BulkFields,
    /// Threads of the owner without a slot for notes that are changing something.
    pub(super) changing_unnoted: CacheLine<AtomicU64>,
    /// What dead processes have left on the owner's memory.
    pub(super) unfinished: UnfinishedList,
}

/// Lock word and waiting line.
#[derive(Debug)]
#[repr(C)]
pub(super) struct LockFields {
    /// [`super::state::LockState`], encoded.
    pub(super) word: CacheLine<AtomicU64>,
    /// Next ticket to give out.
    pub(super) tail: CacheLine<AtomicU64>,
    /// Ticket whose turn it is.
    pub(super) head: CacheLine<HeadFields>,
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
    pub(super) mode: CacheLine<AtomicU64>,
    /// The holder of each stripe; 0 when free.
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
    /// What peers of the node ask with whether it has ended; 0 until it has said, or when they cannot.
    pub(super) vital: AtomicU64,
    /// Where the counters of notification begin in the control memory, and how many there is room for.
    pub(super) counters_at: AtomicU64,
    pub(super) counters: AtomicU64,
}

#[cfg(all(test, loom))]
impl LockFields {
    pub(super) fn new() -> Self {
        Self {
            word: CacheLine(AtomicU64::new(0)),
            tail: CacheLine(AtomicU64::new(0)),
            head: CacheLine(HeadFields { ticket: AtomicU64::new(0), since: AtomicU64::new(0) }),
        }
    }
}

#[cfg(all(test, loom))]
impl BulkFields {
    pub(super) fn new() -> Self {
        Self { mode: CacheLine(AtomicU64::new(0)), stripes: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

#[cfg(not(all(test, loom)))]
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Fields, lock) == 0);
    assert!(offset_of!(LockFields, tail) == 64);
    assert!(offset_of!(LockFields, head) == 128);
    assert!(offset_of!(Fields, exclusion) == 192);
    assert!(offset_of!(Fields, published) == 256);
    assert!(offset_of!(Fields, meeting) == 320);
    assert!(offset_of!(Fields, asleep) == 384);
    assert!(offset_of!(Fields, posts) == 448);
    assert!(offset_of!(Fields, dones) == 512);
    assert!(offset_of!(Fields, bulk) == 576);
    assert!(offset_of!(BulkFields, stripes) == 64);
    assert!(offset_of!(Fields, changing_unnoted) == 768);
    assert!(offset_of!(Fields, unfinished) == 832);
    assert!(size_of::<Fields>() == 1280 && align_of::<Fields>() == 64);
    assert!(size_of::<NoteSlot>() == 32);
};

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn parts_of_any_length_begin_on_lines_of_their_own() {
        let shape = ControlShape::of(&EngineConfig::default());
        assert_eq!((shape.control_len(), shape.control_len_with_cells(2)), (1728, 1792));
        for (directory, announcers) in [(1, 1), (9, 3), (4096, 256)] {
            let shape = ControlShape::new(directory, announcers);
            let parts =
                [ControlShape::DIRECTORY_AT, shape.announced_at(), shape.notes_at(), shape.control_len()];
            assert!(parts.iter().all(|at| at.is_multiple_of(64)) && parts.is_sorted());
            let lens = [directory * 8, announcers * 8, announcers * 32].map(|len| len as usize);
            assert!(parts.windows(2).zip(lens).all(|(part, len)| part[1] - part[0] >= len));
        }
    }
}
