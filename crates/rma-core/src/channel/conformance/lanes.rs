//! The two lanes of a pair do not block each other.

use super::bench::Bench;
use super::memory::Shape;
use super::recorder::PollEvent;
use crate::channel::{Budget, Lane};
use crate::ids::Peer;

/// Both ranks fill their request lanes to each other and read nothing: responses still have room, and arrive.
pub fn lanes_a_full_request_lane_leaves_responses_free(bench: &mut Bench) {
    let mut world = bench.world(2);
    world.introduce(0, 1);
    let max = world.rank(0).capabilities().max_packet;
    for len in [1, max] {
        for (from, to) in [(0, 1), (1, 0)] {
            // Without a poll of either side, so both stay full.
            while world.rank(0).try_small(Peer(1), Lane::Request, max) {}
            while world.rank(1).try_small(Peer(0), Lane::Request, max) {}
            assert!(
                world.rank(from).try_small(Peer(to), Lane::Response, len),
                "a full request lane from rank {from} keeps a response of {len} bytes from being reserved"
            );
            world.until("the response", |w| {
                w.ledger.on_their_way(|s| s.from == Peer(from) && s.response) == 0
            });
        }
    }
    world.until_all_arrived();
}

/// A response that is committed after many large bulk requests arrives before the last of them.
pub fn lanes_responses_pass_bulk_requests(bench: &mut Bench) {
    let size = bench.fixture.largest_body();
    let mut world = bench.world(2);
    world.introduce(0, 1);
    world.away = vec![Peer(1)];
    let mut bulks = 0;
    while bulks < 8
        && world.rank(0).try_bulk(Peer(1), Lane::Request, size, (Shape::Contiguous, Shape::Discard))
    {
        bulks += 1;
    }
    assert!(bulks > 0, "an empty lane has room");
    assert!(
        world.rank(0).try_small(Peer(1), Lane::Response, 16),
        "bulk requests keep a response from its lane"
    );
    let before = world.rank(1).recorder.events.len();
    let one = Budget { packets: 1, bytes: 1 };
    world.until("the bulks and the response", |w| {
        let _ = w.rank(1).poll(one);
        w.ledger.on_their_way(|_| true) == 0
    });
    let events = &world.rank(1).recorder.events[before..];
    let response = events.iter().position(|e| *e == PollEvent::Packet(Peer(0), Lane::Response));
    let last_bulk = events.iter().rposition(|e| *e == PollEvent::BulkReceived(Peer(0), Lane::Request));
    assert!(
        bulks == 1 || response < last_bulk,
        "a response waited until {bulks} bulk requests of {size} bytes had passed"
    );
    world.away.clear();
    world.until_all_arrived();
}
