//! The orderings of rings under the model checker: every interleaving, with up to three or four preemptions, of a process that sends
//! and one that receives, on one ring or on two with one doorbell.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p rma-ch-shm --release --lib ring::loom_model` runs them. A doorbell is a flag with a
//! waiter here; a wake-up that is lost is a deadlock, which the checker reports.

use super::*;
use crate::block::Strong;
use crate::config::ShmConfig;
use crate::layout::{Geometry, Side};
use loom::sync::{Condvar, Mutex};
use loom::thread;
use rma_core::channel::Lane;

/// What a doorbell is to the model: a ring stays until a waiter takes it, or forgets it.
struct Bell {
    is_rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    fn new() -> Arc<Self> {
        Arc::new(Self { is_rung: Mutex::new(false), changed: Condvar::new() })
    }

    fn ring(&self) {
        *self.is_rung.lock().unwrap() = true;
        self.changed.notify_one();
    }

    fn wait(&self) {
        let mut is_rung = self.is_rung.lock().unwrap();
        while !*is_rung {
            is_rung = self.changed.wait(is_rung).unwrap();
        }
        *is_rung = false;
    }

    fn clear(&self) {
        *self.is_rung.lock().unwrap() = false;
    }
}

/// A ring of four lines whose longest record has so many.
fn ring(strong: Strong, longest: u64) -> (Producer, Consumer) {
    let config = ShmConfig { ring_bytes: 256, ..ShmConfig::default() };
    let geometry = Geometry::new(&config);
    let block = Arc::new(Block::zeros(geometry.ring(Side::Initiator, Lane::Request).data + 256, strong));
    let place = RingPlace { longest, ..geometry.ring(Side::Initiator, Lane::Request) };
    (Producer::new(Arc::clone(&block), place), Consumer::new(block, place))
}

/// Sends the payloads, asleep while there is no room.
fn produce(mut producer: Producer, payloads: &[Vec<u8>], to_consumer: &Bell, to_producer: &Bell) {
    for payload in payloads {
        while !producer.has_room(payload.len()).unwrap() {
            producer.arm();
            if !producer.has_room(payload.len()).unwrap() {
                to_producer.wait();
            }
        }
        producer.put(0, payload);
        producer.publish(Header { kind: Kind::Packet, len: payload.len() });
        if producer.must_ring() {
            to_consumer.ring();
        }
    }
}

/// Expects the payloads, asleep while there is none.
fn consume(mut consumer: Consumer, payloads: &[Vec<u8>], to_consumer: &Bell, to_producer: &Bell) {
    for payload in payloads {
        let header = loop {
            if let Some(header) = consumer.next().unwrap() {
                break header;
            }
            arm_all(|visit| visit(&mut consumer), || to_consumer.clear());
            if consumer.has_record() {
                consumer.disarm();
            } else {
                to_consumer.wait();
            }
        };
        let mut bytes = vec![0; header.len];
        consumer.take(0, &mut bytes);
        assert_eq!(&bytes, payload);
        consumer.release(header);
        if consumer.must_ring() {
            to_producer.ring();
        }
    }
}

fn check(strong: Strong, longest: u64, payloads: &'static [&'static [u8]]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.max_branches = 10_000;
    model.check(move || {
        let payloads: Vec<Vec<u8>> = payloads.iter().map(|p| p.to_vec()).collect();
        let (producer, consumer) = ring(strong, longest);
        let (to_consumer, to_producer) = (Bell::new(), Bell::new());
        let sender = {
            let (payloads, to_consumer, to_producer) =
                (payloads.clone(), to_consumer.clone(), to_producer.clone());
            thread::spawn(move || produce(producer, &payloads, &to_consumer, &to_producer))
        };
        consume(consumer, &payloads, &to_consumer, &to_producer);
        sender.join().unwrap();
    });
}

/// A sleeping consumer is woken by each packet, and sees its bytes.
#[test]
fn no_wake_up_for_a_packet_is_lost() {
    check(Strong::Stores, 4, &[&[1, 2], &[3], &[4; 9]]);
    check(Strong::Loads, 4, &[&[1, 2], &[3], &[4; 9]]);
}

/// A sleeping producer is woken by room; lines are clear when they are written again.
#[test]
fn no_wake_up_for_room_is_lost() {
    const LONG: &[u8] = &[5; 130];
    check(Strong::Stores, 4, &[LONG, LONG, LONG]);
    check(Strong::Loads, 4, &[LONG, LONG, LONG]);
}

/// The same when the consumer looks at the alarm only where the producer can sleep.
#[test]
fn no_wake_up_for_room_is_lost_by_looking_rarely() {
    const HALF: &[u8] = &[6; 70];
    check(Strong::Stores, 2, &[HALF, HALF, HALF, HALF]);
    check(Strong::Loads, 2, &[HALF, HALF, HALF, HALF]);
}

/// Sends a packet on each of these rings in turn, and rings one doorbell for both.
fn produce_on_two(mut rings: [Producer; 2], order: &[usize], to_consumer: &Bell) {
    for ring in order {
        let ring = &mut rings[*ring];
        assert_eq!(ring.has_room(1), Ok(true), "the rings are long enough for all");
        ring.put(0, &[1]);
        ring.publish(Header { kind: Kind::Packet, len: 1 });
        if ring.must_ring() {
            to_consumer.ring();
        }
    }
}

/// Takes so many packets from two rings.
fn consume_from_two(mut rings: [Consumer; 2], mut left: usize, bell: &Bell) {
    while left > 0 {
        let before = left;
        for ring in &mut rings {
            if let Some(header) = ring.next().unwrap() {
                ring.release(header);
                left -= 1;
            }
        }
        if left < before {
            continue;
        }
        arm_all(|visit| rings.iter_mut().for_each(visit), || bell.clear());
        if rings.iter().any(Consumer::has_record) {
            rings.iter_mut().for_each(Consumer::disarm);
        } else {
            bell.wait();
        }
    }
}

/// A consumer of two rings with one doorbell is woken by each packet.
#[test]
fn no_wake_up_for_a_packet_on_one_of_two_rings_is_lost() {
    // The other one has been asked, too, and so its alarm is what is cleared when the doorbell is emptied.
    const ORDER: &[usize] = &[0, 0, 0];
    for strong in [Strong::Stores, Strong::Loads] {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(4);
        model.max_branches = 10_000;
        model.check(move || {
            let [(first, first_end), (second, second_end)] = [(); 2].map(|()| ring(strong, 4));
            let bell = Bell::new();
            let sender = {
                let bell = bell.clone();
                thread::spawn(move || produce_on_two([first, second], ORDER, &bell))
            };
            consume_from_two([first_end, second_end], ORDER.len(), &bell);
            sender.join().unwrap();
        });
    }
}
