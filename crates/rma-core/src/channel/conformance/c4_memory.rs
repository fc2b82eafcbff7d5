//! C4: whose memory is whose, and when. The rank and the recorder overwrite every memory as soon as it is theirs again.

use super::bench::Bench;
use super::memory::Shape;
use super::recorder::PollEvent;
use crate::channel::Lane;
use crate::ids::Peer;

/// Everything a packet is filled from is overwritten right after commit, while the packet is still on its way.
pub fn c4_sources_may_be_reused(bench: &mut Bench) {
    let body = bench.fixture.largest_body().min(5000);
    let mut world = bench.world(2);
    let max = world.rank(0).capabilities().max_packet;
    world.introduce(0, 1);
    for lane in Lane::ALL {
        world.fill_lane(0, 1, lane, max);
    }
    world.until_all_arrived();
    for head in [1, 24, max / 2, max] {
        world.until("room for a bulk", |w| {
            let shapes = (Shape::Strided, Shape::Contiguous);
            w.rank(0)
                .offer_bulk(Peer(1), Lane::Request, head, body, shapes)
                .expect("the peer lives")
                .is_some()
        });
    }
    world.until_all_arrived();
}

/// Every accepted bulk is answered once; bodies are overwritten at that moment, and arrive whole nevertheless.
pub fn c4_bodies_end_with_exactly_one_bulk_sent(bench: &mut Bench) {
    let largest = bench.fixture.largest_body();
    let mut world = bench.world(3);
    let mut sent = 0;
    for i in 0..40usize {
        let size = [1, 500, 5000, 50_000, 300_000][i % 5].min(largest);
        let (from, to) = Shape::MEMORY.map(|s| (s, s))[i % 4];
        world.send_bulk(0, 1 + i as u32 % 2, Lane::ALL[i / 2 % 2], size, (from, to));
        sent += 1;
    }
    world.until_all_arrived();
    world.settle_all();
    world.finish_checks();
    assert_eq!(world.rank(0).recorder.count(|e| matches!(e, PollEvent::BulkSent(_))), sent);
}
