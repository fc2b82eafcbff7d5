//! C1: packets of one (sender, receiver, lane) arrive exactly once, in commit order, with their bytes and bodies.
//!
//! The recorder checks order, length and every byte of each arrival; these tests make the traffic.

use super::bench::Bench;
use super::memory::Shape;
use crate::channel::Lane;
use crate::ids::Peer;

const BOTH: (Shape, Shape) = (Shape::Contiguous, Shape::Contiguous);

/// Small packets of every length around the interesting ones, in both lanes.
pub fn c1_small_packets_keep_their_order(bench: &mut Bench) {
    let mut world = bench.world(2);
    let max = world.rank(0).capabilities().max_packet;
    let mut lengths: Vec<usize> = [1, 2, 7, 8, 9, 63, 64, 65, 191, 192, max / 2, max - 1, max].into();
    lengths.retain(|len| (1..=max).contains(len));
    let mut count = [0; 2];
    for round in 0..10 {
        for (i, len) in lengths.iter().enumerate() {
            let lane = Lane::ALL[(i + round) % 2];
            world.send(0, 1, lane, *len);
            count[lane as usize] += 1;
        }
    }
    world.until_all_arrived();
    for lane in Lane::ALL {
        assert_eq!(world.rank(1).recorder.packets_from(Peer(0), lane), count[lane as usize]);
    }
}

/// Small packets and bulk mixed in one lane: a small packet never overtakes the body before it.
pub fn c1_small_and_bulk_keep_their_order(bench: &mut Bench) {
    let largest = bench.fixture.largest_body();
    let mut world = bench.world(2);
    for i in 0..60 {
        let lane = Lane::ALL[i / 3 % 2];
        match i % 4 {
            0 => world.send(0, 1, lane, 1 + i),
            1 => world.send_bulk(0, 1, lane, 1 + i, BOTH),
            2 => world.send(0, 1, lane, 100 + i),
            _ => world.send_bulk(0, 1, lane, (1000 * i + 1).min(largest), (Shape::Strided, Shape::Backwards)),
        }
    }
    world.until_all_arrived();
    let arrived: usize =
        Lane::ALL.map(|lane| world.rank(1).recorder.packets_from(Peer(0), lane)).iter().sum();
    assert_eq!(arrived, 60);
}

/// Every rank of four sends to every other in both lanes, in an order that looks random.
pub fn c1_many_pairs_and_both_lanes(bench: &mut Bench) {
    const RANKS: u32 = 4;
    const ROUNDS: usize = 40;
    let largest = bench.fixture.largest_body().min(20_000);
    let mut world = bench.world(RANKS);
    let max = world.rank(0).capabilities().max_packet;
    let mut dice = 1u64;
    for _ in 0..ROUNDS {
        for from in 0..RANKS {
            for to in (0..RANKS).filter(|to| *to != from) {
                for lane in Lane::ALL {
                    dice =
                        dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let roll = (dice >> 33) as usize;
                    if roll.is_multiple_of(8) {
                        world.send_bulk(from, to, lane, 1 + roll % largest, BOTH);
                    } else {
                        world.send(from, to, lane, 1 + roll % max);
                    }
                }
            }
        }
    }
    world.until_all_arrived();
    for to in 0..RANKS {
        for from in (0..RANKS).filter(|from| *from != to) {
            for lane in Lane::ALL {
                assert_eq!(world.rank(to).recorder.packets_from(Peer(from), lane), ROUNDS, "{from} to {to}");
            }
        }
    }
}

/// Bulk bodies from one byte to the largest, every shape at either end, some dropped by the receiver.
pub fn c1_bodies_of_every_size_and_shape(bench: &mut Bench) {
    let largest = bench.fixture.largest_body();
    let mut world = bench.world(2);
    let sizes = [1, 2, 3, 7, 8, 64, 65, 1000, 4095, 4096, 4097, 65_536, 70_000];
    let mut receivers = Shape::MEMORY.to_vec();
    receivers.push(Shape::Discard);
    let mut count = 0;
    for (i, size) in sizes.into_iter().filter(|size| *size <= largest).enumerate() {
        for (j, from) in Shape::MEMORY.into_iter().enumerate() {
            for (k, to) in receivers.iter().enumerate() {
                world.send_bulk(0, 1, Lane::ALL[(i + j + k) % 2], size, (from, *to));
                count += 1;
            }
        }
    }
    for (size, shapes) in [
        (1 << 20, (Shape::Strided, Shape::Contiguous)),
        ((1 << 20) + 5, (Shape::Contiguous, Shape::Contiguous)),
        (3 << 20, (Shape::Backwards, Shape::Nested)),
        (largest, (Shape::Contiguous, Shape::Contiguous)),
        (largest, (Shape::Contiguous, Shape::Discard)),
    ] {
        if size <= largest {
            world.send_bulk(0, 1, Lane::Request, size, shapes);
            world.send(0, 1, Lane::Request, 1);
            count += 2;
        }
    }
    world.until_all_arrived();
    let arrived: usize =
        Lane::ALL.map(|lane| world.rank(1).recorder.packets_from(Peer(0), lane)).iter().sum();
    assert_eq!(arrived, count);
}
