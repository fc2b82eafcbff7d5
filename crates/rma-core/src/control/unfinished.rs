//! Operations that their origins have died in: what they may have changed in part, on the memory of one rank.
//!
//! The engine of that rank adds to the list, in its own control block, when it learns of a death, and before
//! the dead rank's lock passes on. Processes that map the block read it there, and others ask the engine; the
//! process that has put things right acknowledges what it has read. So what a holder has read, and not
//! acknowledged when it dies itself, is there for the next one.
//!
//! The list has room for [`ENTRIES`]. What comes past that is counted, and is an operation of which nothing is known once those
//! before it are acknowledged.
//!
//! Values read may be hostile: then the program learns of other operations than there were.

use super::shim::{
    AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence,
};
use crate::ids::Rank;
use smallvec::SmallVec;

/// Entries of the list.
pub(super) const ENTRIES: usize = 16;

/// Bytes of a [`UnfinishedReport`] in a packet.
pub(crate) const REPORT_LEN: usize = size_of::<u64>() * (1 + ENTRIES * FIELDS);

const FIELDS: usize = 3;
const ORIGIN_BITS: u32 = 24;
const ORIGIN_MASK: u64 = (1 << ORIGIN_BITS) - 1;
const TAG_SHIFT: u32 = 32;

/// What a dead process was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Something, somewhere.
    Unknown,
    /// A put.
    Put,
    /// An accumulate, or another operation that changes elements by what they are. Each element is whole, if it is aligned and of a type
    /// that has one word.
    Accumulate,
}

impl OperationKind {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Put => 1,
            Self::Accumulate => 2,
        }
    }

    /// Any code.
    pub(super) fn of_code(code: u8) -> Self {
        match code {
            1 => Self::Put,
            2 => Self::Accumulate,
            _ => Self::Unknown,
        }
    }
}

/// An operation that its origin has died in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Whose operation it was.
    pub origin: Rank,
    /// What it was.
    pub kind: OperationKind,
    /// The first byte that it may have changed, from the beginning of the target's memory; an address in a dynamic window.
    pub start: u64,
    /// Bytes from the first to the last that it may have changed; [`u64::MAX`] when that is not known.
    pub len: u64,
}

impl Unfinished {
    /// One of which nothing else is known.
    pub(crate) fn unknown(origin: Rank) -> Self {
        Self { origin, kind: OperationKind::Unknown, start: 0, len: u64::MAX }
    }

    /// This one and another of the same origin as one.
    pub(crate) fn and(self, other: Self) -> Self {
        let start = self.start.min(other.start);
        let end = |one: &Self| one.start.saturating_add(one.len);
        Self { start, len: end(&self).max(end(&other)) - start, ..self }
    }

    fn head(&self) -> u64 {
        u64::from(self.kind.code()) << ORIGIN_BITS | u64::from(self.origin.0) & ORIGIN_MASK
    }

    fn of_fields([head, start, len]: [u64; FIELDS]) -> Self {
        let kind = OperationKind::of_code((head >> ORIGIN_BITS) as u8);
        Self { origin: Rank((head & ORIGIN_MASK) as u32), kind, start, len }
    }
}

/// What there is to be put right on the memory of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnfinishedReport {
    /// How many operations there are.
    pub number: u64,
    /// The first of them: all, unless there are more than sixteen.
    pub operations: SmallVec<[Unfinished; ENTRIES]>,
}

/// The list of one rank.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct UnfinishedList {
    /// How many were acknowledged.
    from: AtomicU64,
    /// How many were added.
    to: AtomicU64,
    entries: [UnfinishedEntry; ENTRIES],
}

#[derive(Debug)]
#[repr(C)]
struct UnfinishedEntry {
    /// Which one it is, its kind and its origin.
    what: AtomicU64,
    start: AtomicU64,
    len: AtomicU64,
}

impl UnfinishedList {
    /// Adds an operation; for the engine of the list's owner, under its lock.
    pub(crate) fn add(&self, operation: Unfinished) {
        let (from, to) = (self.from.load(Acquire), self.to.load(Relaxed));
        if to.wrapping_sub(from) < ENTRIES as u64 {
            let entry = &self.entries[place(to)];
            // SYNC POINT entry: a thread that still reads what was acknowledged finds it gone.
            entry.what.store(0, Relaxed);
            fence(Release);
            entry.start.store(operation.start, Relaxed);
            entry.len.store(operation.len, Relaxed);
            entry.what.store(tag(to) | operation.head(), Release);
        }
        // SYNC POINT list: read by `report`.
        self.to.store(to.wrapping_add(1), Release);
    }

    /// What there is now.
    pub(crate) fn report(&self) -> UnfinishedReport {
        let from = self.from.load(Acquire);
        // SYNC POINT list: sees the entries that were added before.
        let number = self.to.load(Acquire).wrapping_sub(from);
        let listed = number.min(ENTRIES as u64);
        let operations = (0..listed).map(|at| self.read(from.wrapping_add(at))).collect();
        UnfinishedReport { number, operations }
    }

    fn read(&self, index: u64) -> Unfinished {
        let entry = &self.entries[place(index)];
        let what = entry.what.load(Acquire);
        let (start, len) = (entry.start.load(Relaxed), entry.len.load(Relaxed));
        // SYNC POINT entry: the fields are of this one if nothing has changed.
        fence(Acquire);
        if what != entry.what.load(Relaxed) || what >> TAG_SHIFT != tag(index) >> TAG_SHIFT {
            return Unfinished::unknown(Rank::NULL);
        }
        Unfinished::of_fields([what, start, len])
    }

    /// The first of them, so many, or all if there are fewer, have been put right.
    pub(crate) fn acknowledge(&self, number: u64) {
        let mut from = self.from.load(Acquire);
        loop {
            let there = self.to.load(Acquire).wrapping_sub(from);
            let next = from.wrapping_add(number.min(there));
            match self.from.compare_exchange_weak(from, next, AcqRel, Acquire) {
                Ok(_) => return,
                Err(found) => from = found,
            }
        }
    }
}

fn place(index: u64) -> usize {
    (index % ENTRIES as u64) as usize
}

/// Distinguishes an entry from earlier ones in the same place, and from none.
fn tag(index: u64) -> u64 {
    index.wrapping_add(1) << TAG_SHIFT
}

impl UnfinishedReport {
    /// As bytes of a packet.
    pub(crate) fn to_bytes(&self) -> [u8; REPORT_LEN] {
        let mut bytes = [0; REPORT_LEN];
        let fields = self.operations.iter().flat_map(|op| {
            let origin = u64::from(op.origin.0);
            [u64::from(op.kind.code()) << u32::BITS | origin, op.start, op.len]
        });
        let words = std::iter::once(self.number).chain(fields);
        for (room, word) in bytes.chunks_exact_mut(size_of::<u64>()).zip(words) {
            room.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// From bytes of a packet, which may be any.
    pub(crate) fn of_bytes(bytes: &[u8; REPORT_LEN]) -> Self {
        let (words, _) = bytes.as_chunks();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let number = words.next().unwrap_or_default();
        let mut next = || words.next().unwrap_or_default();
        let operations = (0..number.min(ENTRIES as u64)).map(|_| {
            let [what, start, len] = [next(), next(), next()];
            let kind = OperationKind::of_code((what >> u32::BITS) as u8);
            Unfinished { origin: Rank(what as u32), kind, start, len }
        });
        Self { number, operations: operations.collect() }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn list() -> UnfinishedList {
        let word = || AtomicU64::new(0);
        let entry = |_| UnfinishedEntry { what: word(), start: word(), len: word() };
        UnfinishedList { from: word(), to: word(), entries: std::array::from_fn(entry) }
    }

    fn operation(number: u64) -> Unfinished {
        let kind = if number.is_multiple_of(2) { OperationKind::Put } else { OperationKind::Accumulate };
        Unfinished { origin: Rank(number as u32 + 3), kind, start: number << 40, len: number + 1 }
    }

    #[test]
    fn what_is_not_acknowledged_stays() {
        let list = list();
        assert_eq!(list.report(), UnfinishedReport::default());
        (0..3).for_each(|number| list.add(operation(number)));
        for _ in 0..2 {
            assert_eq!(list.report().operations[..], [0, 1, 2].map(operation));
        }
        list.acknowledge(1);
        assert_eq!(list.report().operations[..], [1, 2].map(operation));
        list.acknowledge(u64::MAX);
        assert_eq!(list.report(), UnfinishedReport::default());
        list.add(operation(9));
        assert_eq!((list.report().number, list.report().operations[0]), (1, operation(9)));
    }

    #[test]
    fn what_there_is_no_room_for_is_counted_and_unknown() {
        let (list, most) = (list(), ENTRIES as u64);
        (0..most + 2).for_each(|number| list.add(operation(number)));
        let report = list.report();
        assert_eq!((report.number, report.operations.len()), (most + 2, ENTRIES));
        list.acknowledge(most - 1);
        let nothing = Unfinished::unknown(Rank::NULL);
        assert_eq!(list.report().operations[..], [operation(most - 1), nothing, nothing]);
        list.acknowledge(3);
        // The places of those before.
        (0..3).for_each(|number| list.add(operation(number)));
        assert_eq!(list.report().operations[..], [0, 1, 2].map(operation));
    }

    #[test]
    fn reports_survive_their_bytes_and_any_bytes_are_a_report() {
        let list = list();
        for number in 0..ENTRIES as u64 + 3 {
            assert_eq!(UnfinishedReport::of_bytes(&list.report().to_bytes()), list.report());
            list.add(operation(number));
        }
        let noise = UnfinishedReport::of_bytes(&[0xff; REPORT_LEN]);
        assert_eq!((noise.number, noise.operations.len()), (u64::MAX, ENTRIES));
    }

    #[test]
    fn pieces_of_one_operation_are_one_range() {
        let piece = |start, len| Unfinished { start, len, ..operation(0) };
        assert_eq!(piece(8, 8).and(piece(64, 1)), piece(8, 57));
        assert_eq!(piece(64, 1).and(piece(8, 8)), piece(8, 57));
        assert_eq!(piece(8, 80).and(piece(16, 8)), piece(8, 80));
        assert_eq!(piece(8, 8).and(piece(16, u64::MAX)), piece(8, u64::MAX - 8));
    }
}
