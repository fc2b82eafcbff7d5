//! The ring against a queue: wrap-around, full and empty, abandoned records, and a partner that writes anything.

use super::*;
use crate::config::ShmConfig;
use crate::layout::{Geometry, Side};
use crate::segment::{Mapping, SharedMemory};
use crate::testing::{Random, with_gather, with_scatter};
use rma_core::channel::Lane;
use std::collections::VecDeque;

fn ring(lines: u64) -> (Producer, Consumer, Arc<Block>, RingPlace) {
    let config = ShmConfig { ring_bytes: lines * LINE as u64, ..ShmConfig::default() };
    let geometry = Geometry::new(&config);
    let len = geometry.block_len() as u64;
    let memory = SharedMemory::create(len, len, &config).unwrap();
    let block = Arc::new(Block::new(Mapping::new(&memory).unwrap()));
    let place = geometry.ring(Side::Acceptor, Lane::Request);
    assert_eq!(place.lines, lines);
    (Producer::new(Arc::clone(&block), place), Consumer::new(Arc::clone(&block), place), block, place)
}

fn send(producer: &mut Producer, kind: Kind, bytes: &[u8]) {
    assert_eq!(producer.has_room(bytes.len()), Ok(true));
    producer.put(0, bytes);
    producer.publish(Header { kind, len: bytes.len() });
}

fn receive(consumer: &mut Consumer) -> Option<(Kind, Vec<u8>)> {
    let header = consumer.next().unwrap()?;
    let mut bytes = vec![0; header.len];
    consumer.take(0, &mut bytes);
    consumer.release(header);
    Some((header.kind, bytes))
}

/// A ring beside the queue that it should be.
struct Pair {
    producer: Producer,
    consumer: Consumer,
    lines: u64,
    queue: VecDeque<(Kind, Vec<u8>)>,
    random: Random,
    refused: usize,
    abandoned: usize,
}

impl Pair {
    fn free_lines(&self) -> u64 {
        self.lines - self.queue.iter().map(|(_, bytes)| lines_of(bytes.len())).sum::<u64>()
    }

    /// Sends a record of any length in two parts, or gives it up half-way. Says whether it was sent.
    fn send(&mut self) -> bool {
        let len = 1 + self.random.below(self.producer.longest());
        let has_room = self.producer.has_room(len).unwrap();
        assert_eq!(has_room, lines_of(len) <= self.free_lines());
        if !has_room {
            self.refused += 1;
            return false;
        }
        let bytes = self.random.bytes(len);
        let first = self.random.below(len + 1);
        self.producer.put(0, &bytes[..first]);
        if self.random.below(8) == 0 {
            self.producer.abandon(first);
            self.abandoned += 1;
            return false;
        }
        with_gather(&bytes[first..], |rest| self.producer.put_from(first, len - first, rest));
        assert_eq!(
            self.consumer.has_record(),
            !self.queue.is_empty(),
            "nothing shows before it is published"
        );
        let kind = [Kind::Packet, Kind::BulkHead, Kind::Body][self.random.below(3)];
        self.producer.publish(Header { kind, len });
        self.queue.push_back((kind, bytes));
        true
    }

    fn receive_to_memory(&mut self) {
        let Some(header) = self.consumer.next().unwrap() else { return assert!(self.queue.is_empty()) };
        let mut bytes = vec![0; header.len];
        with_scatter(&mut bytes, |place| self.consumer.take_to(header.len, place));
        self.consumer.release(header);
        assert_eq!(Some((header.kind, bytes)), self.queue.pop_front());
    }
}

#[test]
fn it_is_a_queue_of_bytes_for_any_lengths_and_any_interleaving() {
    for (lines, seed) in [(4, 1), (4, 2), (8, 3), (16, 4), (64, 5)] {
        println!("{lines} lines, seed {seed}");
        let (producer, consumer, ..) = ring(lines);
        let (queue, random) = (VecDeque::new(), Random::new(seed));
        let mut pair = Pair { producer, consumer, lines, queue, random, refused: 0, abandoned: 0 };
        let mut sent = 0;
        while sent < 20_000 {
            match pair.random.below(5) {
                0..3 => sent += usize::from(pair.send()),
                3 => assert_eq!(receive(&mut pair.consumer), pair.queue.pop_front()),
                _ => pair.receive_to_memory(),
            }
        }
        assert!(pair.refused > 100 && pair.abandoned > 100, "{} {}", pair.refused, pair.abandoned);
    }
}

#[test]
fn it_takes_what_fits_exactly_and_nothing_more() {
    let (mut producer, mut consumer, ..) = ring(4);
    assert_eq!(producer.longest(), 248);
    let longest = vec![1; 248];
    send(&mut producer, Kind::Body, &longest);
    assert_eq!(producer.has_room(1), Ok(false));
    assert_eq!(receive(&mut consumer), Some((Kind::Body, longest)));
    assert_eq!(receive(&mut consumer), None);
    assert_eq!(producer.has_room(249), Ok(false));
    for i in 0..4 {
        send(&mut producer, Kind::Packet, &[i; 56]);
    }
    assert_eq!(producer.has_room(1), Ok(false));
    assert_eq!(receive(&mut consumer), Some((Kind::Packet, vec![0; 56])));
    assert_eq!((producer.has_room(56), producer.has_room(57)), (Ok(true), Ok(false)));
}

/// Asks for a ring, and says whether an earlier one was forgotten for that.
fn arm(consumer: &mut Consumer) -> bool {
    let mut is_cleared = false;
    arm_all(|visit| visit(consumer), || is_cleared = true);
    is_cleared
}

#[test]
fn alarms_ring_once_for_what_was_asked() {
    let (mut producer, mut consumer, ..) = ring(4);
    send(&mut producer, Kind::Packet, &[1]);
    assert!(!producer.must_ring(), "no alarm is set");
    assert!(!arm(&mut consumer));
    assert!(consumer.has_record(), "the armed side must look again");
    consumer.disarm();
    assert!(!producer.must_ring());
    receive(&mut consumer);
    consumer.arm();
    assert!(!consumer.has_record());
    send(&mut producer, Kind::Packet, &[2]);
    assert!(producer.must_ring());
    assert!(!producer.must_ring());
    assert!(arm(&mut consumer), "it was rung since the last time");
    assert!(!arm(&mut consumer));
    assert!(!consumer.must_ring());
    producer.arm();
    receive(&mut consumer);
    assert!(consumer.must_ring());
    assert!(!consumer.must_ring());
    producer.arm();
    producer.disarm();
    assert!(!consumer.must_ring());
}

#[test]
fn a_consumer_looks_at_the_alarm_before_the_ring_could_seem_full() {
    let (_, _, block, place) = ring(8);
    let place = RingPlace { longest: 3, ..place };
    let (mut producer, mut consumer) =
        (Producer::new(Arc::clone(&block), place), Consumer::new(Arc::clone(&block), place));
    for turn in 0..4 {
        producer.arm();
        for record in 1..=6 {
            send(&mut producer, Kind::Packet, &[turn]);
            receive(&mut consumer);
            // Five lines and the longest record fill the ring; six do not leave room for it.
            assert_eq!(consumer.must_ring(), record == 6, "after record {record}");
        }
    }
    producer.arm();
    send(&mut producer, Kind::Packet, &[1]);
    send(&mut producer, Kind::Packet, &[2]);
    receive(&mut consumer);
    assert!(consumer.must_ring(), "the ring is not empty");
}

#[test]
fn a_false_index_is_noticed_and_changes_nothing() {
    for claim in [1, 2, 5, u64::MAX, u64::MAX / 2, 1 << 32] {
        let (mut producer, _consumer, block, place) = ring(4);
        for _ in 0..4 {
            send(&mut producer, Kind::Packet, &[1]);
        }
        block.store(place.consumed, claim, Relaxed);
        let room = producer.has_room(56);
        match claim {
            1 | 2 => assert_eq!(room, Ok(true)),
            _ => assert!(room.is_err(), "{claim}"),
        }
    }
    let (mut producer, mut consumer, block, place) = ring(4);
    for _ in 0..4 {
        send(&mut producer, Kind::Packet, &[1]);
    }
    receive(&mut consumer);
    assert_eq!(producer.has_room(1), Ok(true));
    send(&mut producer, Kind::Packet, &[1]);
    block.store(place.consumed, 0, Relaxed);
    assert!(producer.has_room(1).is_err(), "an index that goes back");
}

#[test]
fn a_header_that_no_process_writes_is_noticed() {
    let good = Header { kind: Kind::Packet, len: 8 }.to_word();
    let (_, consumer, block, place) = ring(4);
    let longest = 248;
    for (word, is_good) in [
        (good, true),
        (longest | 3 << 32, true),
        ((longest + 1) | 3 << 32, false),
        (u64::from(u32::MAX) | 1 << 32, false),
        (1, false),
        (1 << 32, false),
        (4 << 32 | 8, false),
        (good | 1 << 40, false),
        (good | 1 << 63, false),
        (u64::MAX, false),
    ] {
        block.store(place.data, word, Relaxed);
        assert_eq!(consumer.next().is_ok(), is_good, "{word:x}");
        assert!(consumer.has_record());
    }
}

#[test]
fn any_bytes_in_the_block_are_a_record_or_an_error_and_stay_within_it() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let (mut producer, mut consumer, block, place) = ring(1 << random.in_range(2, 6));
        for _ in 0..200 {
            let at = random.below(block.len() / 8) * 8;
            // Words that are nearly right do more harm than random ones.
            let word = match random.below(4) {
                0 => random.next(),
                1 => random.below(600) as u64 | (random.below(4) as u64) << 32,
                2 => random.below(200) as u64,
                _ => 0,
            };
            block.store(at, word, Relaxed);
            if random.below(2) == 0 {
                let header = place.data + random.below(place.lines as usize) * LINE;
                block.store(header, random.below(300) as u64 | 1 << 32, Relaxed);
            }
            if consumer.next().is_ok_and(|header| header.is_some()) {
                assert!(receive(&mut consumer).is_some());
            }
            consumer.must_ring();
            let len = 1 + random.below(producer.longest());
            if producer.has_room(len) == Ok(true) {
                send(&mut producer, Kind::Packet, &random.bytes(len));
            }
        }
    }
}
