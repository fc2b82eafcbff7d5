//! C3: "full" is the only back-pressure, answered before a byte is built, and followed by exactly one writable.

use super::bench::Bench;
use super::memory::Shape;
use super::recorder::PollEvent;
use super::world::World;
use crate::channel::Lane;
use crate::ids::Peer;

const ONE: Peer = Peer(1);

/// Fills each lane, and sees one notice once the receiver reads; then the same length has room at once.
pub fn c3_full_then_one_writable(bench: &mut Bench) {
    let mut world = bench.world(2);
    world.introduce(0, 1);
    let max = world.rank(0).capabilities().max_packet;
    for (lane, len) in
        [(Lane::Request, max), (Lane::Response, max), (Lane::Request, 64), (Lane::Response, 64)]
    {
        let before = world.rank(0).recorder.count(|e| *e == PollEvent::Writable(ONE, lane));
        if world.fill_lane(0, 1, lane, max) == 0 {
            panic!("C3: no room for a packet in an empty {lane:?} lane");
        }
        world.fill_lane(0, 1, lane, len);
        for _ in 0..3 {
            assert!(!world.rank(0).try_small(ONE, lane, len), "full again, as nothing was read");
        }
        let notices = |w: &mut World<'_>| w.rank(0).recorder.count(|e| *e == PollEvent::Writable(ONE, lane));
        // Polls of the sender alone end `fill_lane` with a notice when its own buffers empty; those count too.
        let base = notices(&mut world).max(before);
        world.until("the notice that there is room", |w| notices(w) > base);
        assert!(world.rank(0).try_small(ONE, lane, len), "C3: the notice came, but there is no room");
        world.until_all_arrived();
        world.settle_all();
        assert_eq!(notices(&mut world), base + 1, "C3: one full, several notices");
    }
}

/// The same for bulk: refused before anything is sent, and the body stays the caller's.
pub fn c3_full_for_bulk_then_one_writable(bench: &mut Bench) {
    let largest = bench.fixture.largest_body().min(100_000);
    let limit = bench.fixture.most_unread_bytes();
    let mut world = bench.world(2);
    world.introduce(0, 1);
    for lane in Lane::ALL {
        let shapes = (Shape::Contiguous, Shape::Strided);
        let mut sent = 0;
        loop {
            while world.rank(0).try_bulk(ONE, lane, largest, shapes) {
                sent += 1;
                assert!(
                    sent * largest <= limit,
                    "C3: {sent} bodies of {largest} bytes unread, and still room"
                );
            }
            world.settle(0);
            if world.rank(0).recorder.full.contains(&(ONE, lane)) {
                break;
            }
        }
        assert!(sent > 0, "C3: no room for a bulk in an empty lane");
        world.until("the notice that there is room", |w| !w.rank(0).recorder.full.contains(&(ONE, lane)));
        assert!(
            world.rank(0).try_bulk(ONE, lane, largest, shapes),
            "C3: the notice came, but there is no room"
        );
        world.until_all_arrived();
        world.settle_all();
    }
}

/// Packets of every small length through lanes that are full again and again: nothing is lost at any wrap-around.
pub fn c3_room_in_every_small_size(bench: &mut Bench) {
    let mut world = bench.world(2);
    let max = world.rank(0).capabilities().max_packet.min(300);
    let mut refused = 0;
    for i in 0..3 * max {
        let (len, lane) = (1 + i % max, Lane::ALL[i % 2]);
        while !world.rank(0).try_small(ONE, lane, len) {
            refused += 1;
            world.until("room", |w| !w.rank(0).recorder.full.contains(&(ONE, lane)));
        }
    }
    world.until_all_arrived();
    let _ = refused; // large buffers never fill here; the smallest do
}
