//! C2: nothing leaves before commit; a reservation that is not committed sends nothing.

use super::bench::Bench;
use super::memory::Shape;
use super::rank::PLENTY;
use crate::channel::{Lane, Room, Source};
use crate::ids::Peer;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Reservations given up in every way: by another one (same peer, other lane, other peer), by a bulk, by a poll.
pub fn c2_dropped_reservations_send_nothing(bench: &mut Bench) {
    let mut world = bench.world(3);
    world.introduce(0, 1);
    world.introduce(0, 2);
    let (zero, one) = (Peer(0), Peer(1));
    let before = world.rank(1).recorder.packets_from(zero, Lane::Request);
    for round in 0..20 {
        let len = 1 + round * 9;
        world.until("a reservation to give up", |w| w.rank(0).abandon(one, Lane::Request, len));
        match round % 5 {
            0 => world.send(0, 1, Lane::Request, 30 + round),
            1 => world.send(0, 1, Lane::Response, 30 + round),
            2 => world.send(0, 2, Lane::Request, 30 + round),
            3 => world.send_bulk(0, 1, Lane::Request, 300, (Shape::Strided, Shape::Strided)),
            _ => drop(world.rank(0).poll(PLENTY)),
        }
    }
    // Filled in part, and not at all.
    let room = world.rank(0).channel().reserve(one, Lane::Request, 100);
    if room == Ok(Room::Granted) {
        world.rank(0).channel().fill(Source::Bytes(&[1; 40]));
    }
    let _ = world.rank(0).channel().reserve(one, Lane::Response, 50);
    for lane in Lane::ALL {
        world.rank(0).recorder.full.insert((one, lane));
    }
    world.send(0, 1, Lane::Request, 77);
    world.until_all_arrived();
    world.settle_all();
    world.finish_checks();
    assert_eq!(world.rank(1).recorder.packets_from(zero, Lane::Request), before + 4 + 4 + 1);
}

/// What the documentation calls a panic is one: it would corrupt the stream silently otherwise.
pub fn c2_misuse_panics(bench: &mut Bench) {
    type Misuse = fn(&mut dyn crate::channel::Channel);
    let misuses: [(&str, Misuse); 4] = [
        ("commit without a reservation", |c| c.commit()),
        ("fill without a reservation", |c| c.fill(Source::Bytes(&[1]))),
        ("commit of a packet that is not full", |c| {
            if c.reserve(Peer(1), Lane::Request, 10) == Ok(Room::Granted) {
                c.fill(Source::Bytes(&[1; 9]));
            }
            c.commit();
        }),
        ("fill beyond the reservation", |c| {
            if c.reserve(Peer(1), Lane::Request, 10) == Ok(Room::Granted) {
                c.fill(Source::Bytes(&[1; 9]));
            }
            c.fill(Source::Bytes(&[1; 2]));
        }),
    ];
    for (what, misuse) in misuses {
        let mut world = bench.world(2);
        world.introduce(0, 1);
        let channel = world.rank(0).channel();
        assert!(catch_unwind(AssertUnwindSafe(|| misuse(channel))).is_err(), "{what} does not panic");
    }
    let mut world = bench.world(2);
    world.introduce(0, 1);
    assert!(world.rank(0).abandon(Peer(1), Lane::Request, 10), "an idle lane has room");
    let _ = world.rank(0).poll(PLENTY);
    let channel = world.rank(0).channel();
    assert!(catch_unwind(AssertUnwindSafe(|| channel.commit())).is_err(), "a poll drops the reservation");
}
