//! Where things lie in a block of shared memory: four rings, each a control part and a data part. Only numbers.
//!
//! The initiator of a connection makes the block. A block of zeros is four empty rings, so making one touches no page.
//! `crates/rma-ch-shm/wire.md` draws the block byte by byte.

use crate::config::{MAX_RING, MIN_RING, ShmConfig};
use rma_core::channel::Lane;

/// Bytes of a line. Records start at lines; a ring counts in lines.
pub(crate) const LINE: usize = 64;

/// Bytes that one word of a ring's control part has to itself: two lines, since processors fetch lines in pairs.
const APART: usize = 128;

/// Bytes of the control part of one ring.
const CONTROL: usize = 3 * APART;

/// Where the data of the first ring starts.
const DATA: usize = 2048;

/// Rings in a block.
const RINGS: usize = 4;

/// Bytes of a record before its payload: the header word.
pub(crate) const RECORD_HEADER: usize = 8;

/// Bytes of a bulk packet's record between header word and head: the length of the body.
pub(crate) const BODY_LEN: usize = 8;

/// Pieces of a body that fill a ring: the sender fills one while the receiver empties another.
pub(crate) const PIECES: usize = 4;

/// Sizes that both ends of a connection must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    ring_bytes: u64,
    max_packet: u64,
}

/// The part of a block that one ring has: offsets of its words and its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingPlace {
    /// Word: lines consumed since the start. Written by the consumer.
    pub(crate) consumed: usize,
    /// Word: not zero when the consumer sleeps until a record comes. Set by the consumer, cleared by the
    /// ringing process.
    pub(crate) consumer_alarm: usize,
    /// Word: not zero when the producer sleeps until there is room. Set by the producer, cleared by the
    /// ringing process.
    pub(crate) producer_alarm: usize,
    /// First byte of the data.
    pub(crate) data: usize,
    /// Lines of data, a power of two.
    pub(crate) lines: u64,
    /// Lines of the longest record that its producer waits for room for.
    pub(crate) longest: u64,
}

/// Which end of a block's connection a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Initiator,
    Acceptor,
}

impl Geometry {
    pub(crate) fn new(config: &ShmConfig) -> Self {
        let ring_bytes = config.ring_bytes.clamp(MIN_RING, MAX_RING).next_power_of_two();
        let limit = ring_bytes - (RECORD_HEADER + BODY_LEN) as u64;
        Self { ring_bytes, max_packet: config.packet_bytes.min(limit) }
    }

    /// The geometry that another process announced; to be compared with the own one, not to be used.
    pub(crate) fn announced(ring_bytes: u64, max_packet: u64) -> Self {
        Self { ring_bytes, max_packet }
    }

    pub(crate) fn ring_bytes(self) -> u64 {
        self.ring_bytes
    }

    pub(crate) fn max_packet(self) -> usize {
        self.max_packet as usize
    }

    /// Bytes of a block.
    pub(crate) fn block_len(self) -> usize {
        DATA + RINGS * self.ring_bytes as usize
    }

    /// The ring that `side` sends on in `lane`.
    pub(crate) fn ring(self, side: Side, lane: Lane) -> RingPlace {
        let index = 2 * side as usize + lane as usize;
        let control = index * CONTROL;
        RingPlace {
            consumed: control,
            consumer_alarm: control + APART,
            producer_alarm: control + 2 * APART,
            data: DATA + index * self.ring_bytes as usize,
            lines: self.ring_bytes / LINE as u64,
            longest: self.longest().div_ceil(LINE as u64),
        }
    }

    /// Bytes of the longest record: the head of a bulk packet, or a piece of a body.
    fn longest(self) -> u64 {
        let head = self.max_packet + (RECORD_HEADER + BODY_LEN) as u64;
        head.max(piece(self.ring_bytes as usize) as u64)
    }
}

/// Bytes of the record of a piece of a body, in a ring of so many bytes.
pub(crate) const fn piece(ring_bytes: usize) -> usize {
    let part = ring_bytes / PIECES;
    if part > LINE { part } else { LINE }
}

/// A sender that has set its alarm moves at most so many pieces, and may sleep then, also when it has not found the ring full:
/// only because they fill one is there something for the receiver to take away, and to ring for.
const _: () = {
    let mut ring_bytes = LINE;
    while ring_bytes < 1 << 40 {
        assert!(piece(ring_bytes) * PIECES >= ring_bytes);
        ring_bytes *= 2;
    }
};

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Acceptor,
            Self::Acceptor => Self::Initiator,
        }
    }
}

// The control parts end before the data start.
const _: () = assert!(RINGS * CONTROL <= DATA);

#[cfg(test)]
mod tests {
    use super::*;
    use rma_core::channel::MIN_PACKET;

    #[test]
    fn rings_do_not_overlap_and_fill_the_block() {
        for ring_bytes in [256, 300, 65536] {
            let geometry = Geometry::new(&ShmConfig { ring_bytes, ..ShmConfig::default() });
            let mut words = Vec::new();
            let mut data = Vec::new();
            for side in [Side::Initiator, Side::Acceptor] {
                for lane in Lane::ALL {
                    let place = geometry.ring(side, lane);
                    assert!(place.lines.is_power_of_two() && place.lines * LINE as u64 >= ring_bytes);
                    assert!(place.longest <= place.lines);
                    words.extend([place.consumed, place.consumer_alarm, place.producer_alarm]);
                    data.push(place.data..place.data + place.lines as usize * LINE);
                }
            }
            assert!(words.windows(2).all(|w| w[1] - w[0] == APART));
            assert!(words[11] + APART <= data[0].start);
            assert!(data.windows(2).all(|d| d[0].end == d[1].start));
            assert_eq!(data[3].end, geometry.block_len());
        }
    }

    #[test]
    fn the_longest_bulk_head_fits_the_smallest_ring() {
        let config = ShmConfig { ring_bytes: 256, packet_bytes: 1 << 20, ..ShmConfig::default() };
        let geometry = Geometry::new(&config);
        assert_eq!(geometry.max_packet(), 240);
        assert!(geometry.max_packet() >= MIN_PACKET);
        assert_eq!(RECORD_HEADER + BODY_LEN + geometry.max_packet(), 256);
    }
}
