//! The collective slots of a rank, with its words, in shared memory.
//!
//! ```text
//!   0    asleep      what the owner waits for asleep; 0 is awake
//!   8    lost        a rank that the owner has found lost, + 1; 0 is none
//!   16   departures  how many others read these slots no more
//!   24   left        1 when the owner has ended its part in the job, and joins nothing any more
//!   64   slots       sixteen of 256 bytes: a head, and data
//!
//!   head and asleep:
//!    63                              24 23  22      16 15            0
//!   +----------------------------------+----+---------+---------------+
//!   |  number of the collective        |long|  kind   |    length     |
//!   +----------------------------------+----+---------+---------------+
//!   |  number                          |     the awaited rank, + 1    |
//!   +----------------------------------+------------------------------+
//! ```
//!
//! Numbers are counted modulo 2⁴⁰, and compared so: ranks are never further apart than the slots. Slots hold number 0 at first,
//! so the first collective has number 1.
//!
//! Words are relaxed atomics between fences, and data are copied as window memory is: no reference is formed.

use rma_core::mem::{Element, WriteSpan};
use std::sync::atomic::{Ordering::Acquire, Ordering::Release, Ordering::SeqCst, fence};

/// A place in the order of collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CollectiveNumber(u64);

/// Which collective a rank takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectiveKind {
    Barrier,
    Broadcast,
    Reduce,
    AllReduce,
    Gather,
    AllGather,
    Scatter,
    AllToAll,
    ReduceScatter,
}

/// What a rank says when it joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JoinNotice {
    pub(super) kind: CollectiveKind,
    /// The data are elsewhere: the collective goes by packets.
    pub(super) is_long: bool,
    /// Bytes of data in the slot.
    pub(super) len: usize,
}

/// What a rank waits for asleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AwaitedArrival {
    pub(super) number: CollectiveNumber,
    /// Whose arrival; all ranks' if it is `None`.
    pub(super) of: Option<usize>,
}

/// One rank's slots, as any rank uses them; the holder of this keeps the memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankSlots {
    span: WriteSpan,
}

/// As far as a root may be ahead of the receivers of its broadcasts: where ranks outnumber cores each of them
/// needs a turn to follow.
pub(super) const SLOTS: u64 = 16;
/// Short data are a few numbers for each rank; all slots together are about a page.
pub(super) const SLOT_LEN: usize = 256;
pub(super) const SLOTS_AT: usize = 64;
/// Bytes of a rank's slots and words.
pub(super) const RANK_SLOTS_LEN: u64 = SLOTS_AT as u64 + SLOTS * SLOT_LEN as u64;
const HEAD_LEN: usize = size_of::<u64>();
/// Most data of a rank in one collective.
pub(super) const MOST: usize = SLOT_LEN - HEAD_LEN;

const ASLEEP: usize = 0;
const LOST: usize = 8;
const DEPARTURES: usize = 16;
const LEFT: usize = 24;

const NUMBER_SHIFT: u32 = 24;
const NUMBER_MASK: u64 = u64::MAX >> NUMBER_SHIFT;
const LOW_MASK: u64 = (1 << NUMBER_SHIFT) - 1;
const KIND_SHIFT: u32 = 16;
const LONG: u64 = 1 << 23;
const LEN_MASK: u64 = 0xffff;
const _: () = assert!(MOST as u64 <= LEN_MASK && (NUMBER_MASK + 1).is_multiple_of(SLOTS));

const KINDS: [CollectiveKind; 9] = [
    CollectiveKind::Barrier,
    CollectiveKind::Broadcast,
    CollectiveKind::Reduce,
    CollectiveKind::AllReduce,
    CollectiveKind::Gather,
    CollectiveKind::AllGather,
    CollectiveKind::Scatter,
    CollectiveKind::AllToAll,
    CollectiveKind::ReduceScatter,
];

impl CollectiveNumber {
    /// The number of the collective that comes `count` after that of a counter.
    pub(super) fn of(counter: u64) -> Self {
        Self(counter & NUMBER_MASK)
    }

    /// The number `count` before this one.
    pub(super) fn before(self, count: u64) -> Self {
        Self::of(self.0.wrapping_sub(count))
    }

    /// Whether it is that of `other` or comes after it.
    pub(super) fn has_reached(self, other: Self) -> bool {
        self.0.wrapping_sub(other.0) & NUMBER_MASK < NUMBER_MASK / 2
    }

    /// What it is stored as.
    pub(super) fn raw(self) -> u64 {
        self.0
    }

    fn in_word(self) -> u64 {
        self.0 << NUMBER_SHIFT
    }

    fn of_word(word: u64) -> Self {
        Self(word >> NUMBER_SHIFT)
    }

    fn slot(self) -> usize {
        SLOTS_AT + (self.0 % SLOTS) as usize * SLOT_LEN
    }
}

impl CollectiveKind {
    /// Its name in errors on other ranks.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AllReduce => "allreduce",
            Self::Gather => "gather",
            Self::AllGather => "allgather",
            Self::Scatter => "scatter",
            Self::AllToAll => "alltoall",
            Self::ReduceScatter => "reduce_scatter",
        }
    }
}

impl JoinNotice {
    pub(super) fn short(kind: CollectiveKind, len: usize) -> Self {
        Self { kind, is_long: false, len }
    }

    pub(super) fn long(kind: CollectiveKind) -> Self {
        Self { kind, is_long: true, len: 0 }
    }

    fn emit(self) -> u64 {
        let kind = (self.kind as u64) << KIND_SHIFT;
        kind | if self.is_long { LONG } else { 0 } | (self.len as u64 & LEN_MASK)
    }

    /// Nothing when no rank says so.
    fn parse(word: u64) -> Option<Self> {
        let low = word & LOW_MASK;
        let kind = *KINDS.get(((low & !LONG) >> KIND_SHIFT) as usize)?;
        let len = (low & LEN_MASK) as usize;
        (len <= MOST).then_some(Self { kind, is_long: low & LONG != 0, len })
    }
}

impl RankSlots {
    /// The slots that lie in this memory, if it is large enough; zeros are those of a rank that has joined nothing.
    pub(super) fn new(span: WriteSpan) -> Option<Self> {
        let is_whole = span.len() as u64 >= RANK_SLOTS_LEN && span.element::<u64>(0).is_some();
        is_whole.then_some(Self { span })
    }

    fn word(self, at: usize) -> Element<u64> {
        self.span.element(at).expect("the memory begins at a word, and so do all fields")
    }

    /// The owner joins a collective with its data, pieces that fill the slot one behind the other.
    pub(super) fn join<'a>(
        self,
        number: CollectiveNumber,
        notice: JoinNotice,
        data: impl Iterator<Item = &'a [u8]>,
    ) {
        let slot = number.slot();
        let mut at = HEAD_LEN;
        for piece in data {
            self.span.part(slot + at, piece.len()).write(piece);
            at += piece.len();
        }
        debug_assert!(at - HEAD_LEN <= MOST);
        // SYNC POINT joined: the data are there before the head says so.
        fence(Release);
        self.word(slot).store(number.in_word() | notice.emit());
        // SYNC POINT asleep: the head is there before the look for sleepers.
        fence(SeqCst);
    }

    /// Whether the owner has joined a collective, or one after it.
    #[inline]
    pub(super) fn has_joined(self, number: CollectiveNumber) -> bool {
        CollectiveNumber::of_word(self.word(number.slot()).load()).has_reached(number)
    }

    /// What the owner has said when it joined this collective, if it has. `Err` when no rank says so.
    #[inline]
    pub(super) fn notice(self, number: CollectiveNumber) -> Option<Result<JoinNotice, ()>> {
        let word = self.word(number.slot()).load();
        if !CollectiveNumber::of_word(word).has_reached(number) {
            return None;
        }
        // SYNC POINT joined: a rank that sees the head sees the data.
        fence(Acquire);
        // No rank is so far ahead that its slot holds another collective, before this rank joins the next one.
        let is_this = CollectiveNumber::of_word(word) == number;
        Some(JoinNotice::parse(word).filter(|_| is_this).ok_or(()))
    }

    /// Copies data of a collective out.
    pub(super) fn read(self, number: CollectiveNumber, at: usize, into: &mut [u8]) {
        self.span.part(number.slot() + HEAD_LEN + at, into.len()).as_read().read(into);
    }

    /// The owner says what it waits for, before the look after which it may sleep.
    pub(super) fn set_asleep(self, want: AwaitedArrival) {
        let whom = want.of.map_or(LOW_MASK, |rank| rank as u64 + 1);
        self.word(ASLEEP).store(want.number.in_word() | whom);
        // SYNC POINT asleep: the word is there before the last look.
        fence(SeqCst);
    }

    pub(super) fn set_awake(self) {
        self.word(ASLEEP).store(0);
    }

    /// What the owner waits for asleep.
    #[inline]
    pub(super) fn asleep(self) -> Option<AwaitedArrival> {
        let word = self.word(ASLEEP).load();
        if word == 0 {
            return None;
        }
        let whom = word & LOW_MASK;
        let of = if whom == LOW_MASK { None } else { Some(whom.saturating_sub(1) as usize) };
        Some(AwaitedArrival { number: CollectiveNumber::of_word(word), of })
    }

    /// Takes the word away before ringing the owner; `false` when another rank has.
    pub(super) fn claim(self) -> bool {
        self.word(ASLEEP).swap(0) != 0
    }

    /// The owner has found a rank lost.
    pub(super) fn set_lost(self, rank: usize) {
        self.word(LOST).store(rank as u64 + 1);
        // SYNC POINT asleep: as for an arrival.
        fence(SeqCst);
    }

    /// The rank that the owner has found lost.
    pub(super) fn lost(self) -> Option<usize> {
        self.word(LOST).load().checked_sub(1).map(|rank| rank as usize)
    }

    /// The owner joins no collective any more, of any communicator.
    pub(super) fn set_left(self) {
        // SYNC POINT left: all that it has joined comes before.
        fence(Release);
        self.word(LEFT).store(1);
        // SYNC POINT asleep: as for an arrival.
        fence(SeqCst);
    }

    /// Whether the owner will join nothing that it has not joined when this is asked.
    pub(super) fn has_left(self) -> bool {
        let has_left = self.word(LEFT).load() != 0;
        // SYNC POINT left: a rank that sees it sees all that the owner has joined.
        fence(Acquire);
        has_left
    }

    /// Another rank reads these slots no more.
    pub(super) fn depart(self) {
        // SYNC POINT departed: all looks come before.
        fence(Release);
        self.word(DEPARTURES).fetch_add(1);
    }

    /// How many others read these slots no more.
    pub(super) fn departures(self) -> u64 {
        let count = self.word(DEPARTURES).load();
        // SYNC POINT departed: the memory is given back after their last looks.
        fence(Acquire);
        count
    }
}
