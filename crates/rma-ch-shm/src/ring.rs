//! A ring: records from one producer process to one consumer process, in order, through shared memory.
//!
//! The data are lines of 64 bytes. A record is a header word at the start of a line and its payload behind it, over as
//! many lines as it takes, around the end of the data. Positions count lines since the start and never wrap.
//!
//! ```text
//!   consumed            written
//!      │                   │
//!   ───┴── records, each ──┴── free lines, the first word ─────
//!          header not 0        of each 0
//! ```
//!
//! Invariants:
//! - The first word of a free line is 0. Fresh memory is 0; the consumer clears the first words of a record's lines before
//!   it gives them back; the producer clears what an abandoned record dirtied. So "the header word is not 0" is all that a
//!   consumer looks at: one line moves between the processors for a record of up to 56 bytes, and there is no index that
//!   both touch.
//! - `written` is the producer's alone; `consumed` is written by the consumer and read by the producer when it finds no
//!   room.
//! - Nothing read from shared memory is believed: headers and indices are checked on every use ([`Corrupt`]), and offsets
//!   are computed modulo the ring. A process that writes nonsense gets its own connection closed.
//!
//! A ring knows nothing of peers, lanes, packets' contents or descriptors.
//!
//! # Sleeping without a lost wake-up
//!
//! Each direction of waiting has an alarm word: the side that is to sleep sets it and looks again; the side
//! that makes the awaited change looks at the alarm afterwards and, if it is set, clears it and rings the
//! doorbell.
//!
//! ```text
//!   SYNC POINT ring/packet                      SYNC POINT ring/room
//!   producer            consumer                consumer            producer
//!   header := record    alarm := 1              consumed := n       alarm := 1
//!   read alarm          read header             read alarm          read consumed
//! ```
//!
//! All four accesses of a column pair are sequentially consistent, so they have one order that all processes agree on. In
//! it either the reading of the left column comes after `alarm := 1`, and the doorbell is rung; or it comes before, then
//! so does the change above it, and the reading of the right column sees it: no sleep. Both may happen, never neither.
//!
//! One doorbell serves all rings of a consumer, and what it was rung for before must not end the next sleep.
//! So a consumer whose alarms were cleared empties it, but before it sets the first alarm again
//! ([`arm_all`]): the producer of a record that was taken long ago may clear an alarm that was set after
//! that, and a consumer that emptied the doorbell then would sleep with an alarm that is not set.
//!
//! The order of all four costs a consumer more than all else, for its processor has to own the lines that it has just cleared first. So
//! it leaves out `consumed := n` in that order, and the look at the alarm, while no producer can sleep for want of room. A
//! producer that sleeps has seen at least the count of the last such look. With the ring empty it lacks no more lines than
//! were consumed since; and while these and the longest record together fit the ring, it has room for whatever it sends. A
//! ring that is not empty is another matter, and so is the next record.

use crate::block::{Block, RingMemory, Word};
use crate::layout::{LINE, RECORD_HEADER, RingPlace};
use rma_core::datatype::{Gather, Scatter};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A small packet.
    Packet = 1,
    /// The length of a body, and the head of a bulk packet.
    BulkHead = 2,
    /// A piece of the body of the last bulk packet.
    Body = 3,
}

/// Header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// Bytes of payload, at least one.
    pub(crate) len: usize,
}

/// The other process wrote something into the ring that no process of this job writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Corrupt(pub(crate) &'static str);

/// The sending end of a ring.
#[derive(Debug)]
pub(crate) struct Producer {
    ring: Ring,
    written: u64,
    consumed: u64,
}

/// The receiving end of a ring.
#[derive(Debug)]
pub(crate) struct Consumer {
    ring: Ring,
    consumed: u64,
    /// What `consumed` was at the last look at the producer's alarm.
    looked: u64,
    is_armed: bool,
}

#[derive(Debug)]
struct Ring {
    memory: RingMemory,
    place: RingPlace,
}

impl Producer {
    /// The producer of a ring that nothing has been written to.
    pub(crate) fn new(block: Arc<Block>, place: RingPlace) -> Self {
        Self { ring: Ring::new(block, place), written: 0, consumed: 0 }
    }

    /// Whether a record with a payload of `len` bytes fits now.
    pub(crate) fn has_room(&mut self, len: usize) -> Result<bool, Corrupt> {
        let lines = lines_of(len);
        if self.free() < lines {
            self.look_for_room()?;
        }
        Ok(self.free() >= lines)
    }

    /// Puts bytes into the record under construction, `at` bytes into its payload. There must be room for them.
    pub(crate) fn put(&self, at: usize, bytes: &[u8]) {
        self.check(at, bytes.len());
        if !self.ring.memory.write(self.written, at, bytes) {
            self.ring.parts(self.written, at, bytes.len(), |block, offset, part| {
                block.write(offset, &bytes[part])
            });
        }
    }

    /// As [`Producer::put`], with the next `len` bytes of `gather`.
    pub(crate) fn put_from(&self, at: usize, len: usize, gather: &mut Gather) {
        self.check(at, len);
        self.ring.parts(self.written, at, len, |block, offset, part| {
            block.write_from(offset, part.len(), gather);
        });
    }

    /// Lets the consumer see the record under construction.
    pub(crate) fn publish(&mut self, header: Header) {
        self.check(0, header.len);
        // SYNC POINT ring/packet (producer): the header, and with it the payload, before the alarm is read. Pairs with
        // `Consumer::has_record` after `Consumer::arm`.
        self.ring.memory.store_line(self.written, header.to_word(), SeqCst);
        self.written += lines_of(header.len);
    }

    /// Forgets a record under construction whose payload was filled up to `filled`.
    pub(crate) fn abandon(&self, filled: usize) {
        for line in 1..lines_of(filled) {
            // Relaxed: the consumer comes here only past a header that will be published later.
            self.ring.memory.store_line(self.written + line, 0, Relaxed);
        }
    }

    /// Whether the consumer sleeps and must be woken for what was published; the answer is yes once.
    pub(crate) fn must_ring(&self) -> bool {
        self.ring.take_alarm(Word::ConsumerAlarm)
    }

    /// Asks the consumer for a ring when it makes room; look for room again after that.
    pub(crate) fn arm(&self) {
        // SYNC POINT ring/room (producer): the alarm before `consumed` is read again. Pairs with `Consumer::must_ring`.
        self.ring.memory.store(Word::ProducerAlarm, 1, SeqCst);
    }

    /// Takes the request of [`Producer::arm`] back.
    pub(crate) fn disarm(&self) {
        self.ring.memory.store(Word::ProducerAlarm, 0, Relaxed);
    }

    /// The longest payload that a record may have when the ring is empty.
    pub(crate) fn longest(&self) -> usize {
        payload_of(self.ring.place.lines)
    }

    fn look_for_room(&mut self) -> Result<(), Corrupt> {
        // SYNC POINT ring/room (producer), second access. It also orders the consumer's reading and clearing of lines
        // before this process writes them again.
        let consumed = self.ring.memory.load(Word::Consumed, SeqCst);
        if consumed.wrapping_sub(self.consumed) > self.written - self.consumed {
            return Err(Corrupt("it claims to have received more than was sent"));
        }
        self.consumed = consumed;
        Ok(())
    }

    fn free(&self) -> u64 {
        self.ring.place.lines - (self.written - self.consumed)
    }

    fn check(&self, at: usize, len: usize) {
        assert!(lines_of(at + len) <= self.free(), "a record beyond the room that was asked for");
    }
}

impl Consumer {
    /// The consumer of a ring that nothing has been taken from.
    pub(crate) fn new(block: Arc<Block>, place: RingPlace) -> Self {
        Self { ring: Ring::new(block, place), consumed: 0, looked: 0, is_armed: false }
    }

    /// Whether a record waits, sound or not.
    pub(crate) fn has_record(&self) -> bool {
        // SYNC POINT ring/packet (consumer), second access; on the way of every poll it costs what an acquiring load does.
        self.ring.memory.load_line(self.consumed, SeqCst) != 0
    }

    /// The header of the next record, if one is there.
    pub(crate) fn next(&self) -> Result<Option<Header>, Corrupt> {
        let word = self.ring.memory.load_line(self.consumed, Acquire);
        if word == 0 {
            return Ok(None);
        }
        // The next record may be there, and then comes while this one is looked at; if not, the line is where it was cleared.
        self.ring.memory.fetch_line_early(self.consumed + 1);
        let header = Header::parse(word).ok_or(Corrupt("a record with a header that does not exist"))?;
        if header.len > payload_of(self.ring.place.lines) {
            return Err(Corrupt("a record longer than its ring"));
        }
        Ok(Some(header))
    }

    /// Copies payload bytes of the next record out, from `at` on. They must lie within the length of its header.
    pub(crate) fn take(&self, at: usize, into: &mut [u8]) {
        if !self.ring.memory.read(self.consumed, at, into) {
            self.ring.parts(self.consumed, at, into.len(), |block, offset, part| {
                block.read(offset, &mut into[part]);
            });
        }
    }

    /// Copies the first `len` payload bytes of the next record to `scatter`.
    pub(crate) fn take_to(&self, len: usize, scatter: &mut Scatter) {
        self.ring.parts(self.consumed, 0, len, |block, offset, part| {
            block.read_to(offset, part.len(), scatter);
        });
    }

    /// Gives the lines of the next record, which had this header, back to the producer.
    pub(crate) fn release(&mut self, header: Header) {
        let lines = lines_of(header.len);
        for line in 0..lines {
            self.ring.memory.store_line(self.consumed + line, 0, Relaxed);
        }
        self.consumed += lines;
        self.ring.memory.store(Word::Consumed, self.consumed, Release);
    }

    /// Whether the producer sleeps and must be woken for the room that was made; the answer is yes once.
    pub(crate) fn must_ring(&mut self) -> bool {
        let RingPlace { lines, longest, .. } = self.ring.place;
        // With the ring empty, a producer that knows of the last look has this room at least; see above.
        if self.consumed - self.looked + longest <= lines && !self.has_record() {
            return false;
        }
        // SYNC POINT ring/room (consumer): `consumed` once more, now ordered before the reading of the alarm. Once for all
        // records of a poll, where `release` would pay for the ordering with each. Pairs with `Producer::look_for_room`
        // after `Producer::arm`.
        self.looked = self.consumed;
        self.ring.memory.store(Word::Consumed, self.consumed, SeqCst);
        self.ring.take_alarm(Word::ProducerAlarm)
    }

    /// Asks the producer to ring for its next record; look for a record again after that. Only by [`arm_all`], or where the doorbell
    /// is not emptied.
    pub(crate) fn arm(&mut self) {
        self.is_armed = true;
        // SYNC POINT ring/packet (consumer): the alarm before the header is read again. Pairs with `Producer::must_ring`
        // after `Producer::publish`. A store would do, and is the same instruction on x86-64; the model checker knows of an exchange,
        // but not of a store, that it is behind whatever a slow producer has cleared so far.
        self.ring.memory.swap(Word::ConsumerAlarm, 1, SeqCst);
    }

    /// Whether an earlier request was answered meanwhile, as far as can be told.
    fn was_rung(&self) -> bool {
        self.is_armed && self.ring.memory.load(Word::ConsumerAlarm, Relaxed) == 0
    }

    /// Takes the request of [`Consumer::arm`] back. A ring may be under way all the same.
    pub(crate) fn disarm(&mut self) {
        self.ring.memory.store(Word::ConsumerAlarm, 0, Relaxed);
    }

    /// Whether nothing was ever taken.
    pub(crate) fn is_unused(&self) -> bool {
        self.consumed == 0
    }
}

/// Asks the producers of all rings that `each` goes through to ring the doorbell, which `clear` empties if it was rung before; look
/// for records again after that.
pub(crate) fn arm_all(mut each: impl FnMut(&mut dyn FnMut(&mut Consumer)), clear: impl FnOnce()) {
    let mut was_rung = false;
    each(&mut |consumer| was_rung |= consumer.was_rung());
    // Before the first alarm is set: a producer that is slow to look may clear the new one for a record that
    // was taken long ago, and the next record would not ring if the doorbell were emptied after that.
    if was_rung {
        clear();
    }
    each(&mut Consumer::arm);
}

impl Ring {
    fn new(block: Arc<Block>, place: RingPlace) -> Self {
        Self { memory: RingMemory::new(block, place), place }
    }

    /// Calls `copy` for the contiguous parts of the bytes `at .. at + len` of the payload of the record at `position`:
    /// with the offset in the block, and the part of the `len` bytes that lies there.
    fn parts(
        &self,
        position: u64,
        at: usize,
        len: usize,
        mut copy: impl FnMut(&Block, usize, std::ops::Range<usize>),
    ) {
        let size = self.memory.len();
        assert!(
            at <= size - RECORD_HEADER && len <= size - RECORD_HEADER - at,
            "a payload longer than its ring"
        );
        // The size is a power of two: a mask, where a remainder would be a division for each packet.
        let start = (self.memory.offset(position) + RECORD_HEADER + at) & (size - 1);
        let first = len.min(size - start);
        if first > 0 {
            copy(self.memory.block(), self.place.data + start, 0..first);
        }
        if first < len {
            copy(self.memory.block(), self.place.data, first..len);
        }
    }

    /// Reads an alarm after a change that its owner may wait for; clears it when it is set.
    fn take_alarm(&self, alarm: Word) -> bool {
        // SYNC POINT ring/packet (producer) and ring/room (consumer), second access.
        self.memory.load(alarm, SeqCst) != 0 && self.memory.swap(alarm, 0, AcqRel) != 0
    }
}

impl Header {
    fn to_word(self) -> u64 {
        self.len as u64 | (self.kind as u64) << 32
    }

    fn parse(word: u64) -> Option<Self> {
        let kind = match word >> 32 {
            1 => Kind::Packet,
            2 => Kind::BulkHead,
            3 => Kind::Body,
            _ => return None,
        };
        let len = word as u32 as usize;
        (len > 0).then_some(Self { kind, len })
    }
}

/// Lines of a record with a payload of `len` bytes.
fn lines_of(len: usize) -> u64 {
    (len + RECORD_HEADER).div_ceil(LINE) as u64
}

/// Longest payload of a record of `lines` lines.
fn payload_of(lines: u64) -> usize {
    (lines as usize * LINE).saturating_sub(RECORD_HEADER)
}

#[cfg(all(test, loom))]
mod loom_model;
#[cfg(all(test, not(loom)))]
mod tests;
