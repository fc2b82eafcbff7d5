//! C5: poll never blocks and never exceeds its budget. Every poll of the suite is checked for the second half.

use super::bench::Bench;
use super::memory::Shape;
use crate::channel::{Armed, Budget, Lane};
use crate::ids::Peer;

/// Budgets of 0, 1 and 3 packets, and of one byte, with small and bulk of two senders waiting.
pub fn c5_polls_keep_their_budget(bench: &mut Bench) {
    let mut world = bench.world(3);
    world.introduce(0, 1);
    world.introduce(0, 2);
    let budgets = [
        Budget { packets: 0, bytes: 1 << 20 },
        Budget { packets: 1, bytes: 1 << 20 },
        Budget { packets: 3, bytes: 1 << 20 },
        Budget { packets: 64, bytes: 1 },
        Budget { packets: 64, bytes: 200 },
    ];
    for budget in budgets {
        world.away = vec![Peer(0)];
        for i in 0..20 {
            for from in [1, 2] {
                let lane = Lane::ALL[i % 2];
                if i % 5 == 4 {
                    world.rank(from).try_bulk(Peer(0), lane, 1000, (Shape::Contiguous, Shape::Strided));
                } else {
                    world.rank(from).try_small(Peer(0), lane, 10 + i);
                }
            }
        }
        let more_to_come = world.ledger.on_their_way(|s| s.to == Peer(0));
        assert!(more_to_come > 0, "empty lanes have room");
        if budget.packets == 0 {
            for _ in 0..100 {
                let polled = world.rank(0).poll(budget);
                assert_eq!(polled.packets, 0);
                world.step();
            }
            assert_eq!(world.ledger.on_their_way(|s| s.to == Peer(0)), more_to_come);
        }
        let budget = Budget { packets: budget.packets.max(1), ..budget };
        world.until("the receiver with a small budget", |w| {
            let polled = w.rank(0).poll(budget);
            if polled.more {
                assert_eq!(w.rank(0).arm(), Armed::Busy, "C6: more is waiting");
            }
            if polled.is_idle() {
                w.bench.fixture.idle();
            }
            w.ledger.on_their_way(|s| s.to == Peer(0)) == 0
        });
        world.away.clear();
        world.until_all_arrived();
        world.settle_all();
    }
}

/// One peer computes and reads nothing: polls return all the same, and others are served.
pub fn c5_a_peer_that_does_not_read_blocks_no_other(bench: &mut Bench) {
    let largest = bench.fixture.largest_body();
    let mut world = bench.world(3);
    let max = world.rank(0).capabilities().max_packet;
    world.introduce(0, 1);
    world.introduce(0, 2);
    world.away = vec![Peer(1)];
    for lane in Lane::ALL {
        world.rank(0).try_bulk(Peer(1), lane, largest, (Shape::Contiguous, Shape::Contiguous));
        world.fill_lane(0, 1, lane, max);
    }
    let before = world.rank(2).recorder.packets_from(Peer(0), Lane::Request);
    for i in 0..50 {
        world.send(0, 2, Lane::Request, 1 + i);
        world.send(2, 0, Lane::Response, 1 + i);
    }
    world.until("the traffic with the peer that reads", |w| w.ledger.on_their_way(|s| s.to != Peer(1)) == 0);
    assert_eq!(world.rank(2).recorder.packets_from(Peer(0), Lane::Request), before + 50);
    world.away.clear();
    world.until_all_arrived();
}
