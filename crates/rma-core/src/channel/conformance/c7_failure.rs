//! C7: errors are per peer, final, and come once, after that peer's last packet. A goodbye is not an error.

use super::bench::Bench;
use super::memory::Shape;
use super::world::World;
use crate::channel::{FailureKind, Lane};
use crate::ids::Peer;

const CANNOT: &str = "these peers cannot be killed";
const SHAPES: (Shape, Shape) = (Shape::Strided, Shape::Contiguous);

/// A rank sees `peer` fail as `kind`, once, and every call for that peer is an error from then on.
fn expect_failed(world: &mut World<'_>, rank: u32, peer: u32, kind: Option<FailureKind>) {
    world.until("the report of a lost peer", |w| w.rank(rank).recorder.failed.contains_key(&Peer(peer)));
    let failure = world.rank(rank).recorder.failed[&Peer(peer)].clone();
    assert!(kind.is_none_or(|k| k == failure.kind), "C7: {failure:?}, expected was {kind:?}");
    assert!(!failure.detail.is_empty(), "C7: a failure says why");
    for lane in Lane::ALL {
        assert!(world.rank(rank).offer(Peer(peer), lane, 8).is_err(), "C7: room at a failed peer");
        assert!(world.rank(rank).offer_bulk(Peer(peer), lane, 8, 100, SHAPES).is_err());
    }
    assert!(world.rank(rank).channel().connect(Peer(peer)).is_err());
}

/// Packets under way when a rank dies: a prefix of them arrives, then one report, then nothing.
pub fn c7_death_is_reported_once_and_last(bench: &mut Bench) {
    if !bench.fixture.can_kill() {
        return bench.skip(CANNOT);
    }
    let body = bench.fixture.largest_body().min(20_000);
    for polls in [0, 1, 5] {
        let mut world = bench.world(3);
        world.introduce(0, 1);
        world.introduce(0, 2);
        for i in 0..30 {
            for to in [1, 2] {
                let lane = Lane::ALL[i % 2];
                if i % 6 == 5 {
                    world.rank(0).try_bulk(Peer(to), lane, body, SHAPES);
                } else {
                    world.rank(0).try_small(Peer(to), lane, 1 + i);
                }
            }
        }
        for _ in 0..polls {
            world.step();
        }
        world.kill(0);
        for rank in [1, 2] {
            expect_failed(&mut world, rank, 0, Some(FailureKind::Dead));
        }
        world.settle_all();
        world.finish_checks();
        world.ledger.forget(Peer(0));
        world.introduce(1, 2);
    }
}

/// Bodies under way to a rank that dies come back: one bulk_sent each, before the report.
pub fn c7_death_gives_back_every_body(bench: &mut Bench) {
    if !bench.fixture.can_kill() {
        return bench.skip(CANNOT);
    }
    let largest = bench.fixture.largest_body();
    for (size, count) in [(1000.min(largest), 20), (largest, 4)] {
        let mut world = bench.world(2);
        world.introduce(0, 1);
        world.away = vec![Peer(1)];
        for i in 0..count {
            world.rank(0).try_bulk(Peer(1), Lane::ALL[i % 2], size, SHAPES);
        }
        world.settle(0);
        world.kill(1);
        expect_failed(&mut world, 0, 1, Some(FailureKind::Dead));
        // That bulk_sent came first is checked by the recorder.
        assert!(world.rank(0).recorder.outgoing.is_empty(), "C4: bodies without bulk_sent");
        world.settle_all();
    }
}

/// All-to-all traffic of four ranks goes on among three when one dies in the middle.
pub fn c7_others_are_not_affected_by_a_death(bench: &mut Bench) {
    if !bench.fixture.can_kill() {
        return bench.skip(CANNOT);
    }
    let mut world = bench.world(4);
    for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        world.introduce(a, b);
    }
    let before = world.rank(0).recorder.packets_from(Peer(1), Lane::Request);
    for round in 0..40 {
        for from in 0..4u32 {
            for to in (0..4u32).filter(|to| *to != from) {
                if round >= 20 && (from == 3 || to == 3) {
                    continue;
                }
                let fails = |w: &mut World<'_>| w.rank(from).offer(Peer(to), Lane::Request, 1 + round);
                if from == 3 || to == 3 {
                    let _ = fails(&mut world);
                } else {
                    world.until("room", |w| fails(w).expect("these peers live"));
                }
            }
        }
        if round == 19 {
            world.kill(3);
        }
    }
    for rank in 0..3 {
        expect_failed(&mut world, rank, 3, Some(FailureKind::Dead));
    }
    world.ledger.forget(Peer(3));
    world.until_all_arrived();
    assert_eq!(world.rank(0).recorder.packets_from(Peer(1), Lane::Request), before + 40);
    assert!(world.ranks.iter().all(|r| r.recorder.failed.keys().all(|p| *p == Peer(3))));
}

/// A rank that died before any contact fails at the first try, not never.
pub fn c7_first_contact_with_the_dead(bench: &mut Bench) {
    if !bench.fixture.can_kill() || !bench.fixture.notices_death_before_contact() {
        return bench.skip(CANNOT);
    }
    let mut world = bench.world(3);
    world.introduce(0, 1);
    world.kill(2);
    let _ = world.rank(0).offer(Peer(2), Lane::Request, 50);
    let _ = world.rank(1).offer_bulk(Peer(2), Lane::Response, 10, 5000, SHAPES);
    for rank in [0, 1] {
        expect_failed(&mut world, rank, 2, None);
        assert!(world.rank(rank).recorder.outgoing.is_empty(), "C4: bodies without bulk_sent");
    }
    world.ledger.forget(Peer(2));
    world.introduce(0, 1);
}

fn refusal(bench: &mut Bench, bulk: bool) {
    let mut world = bench.world(3);
    world.introduce(0, 1);
    world.introduce(0, 2);
    world.introduce(1, 2);
    world.rank(1).recorder.refuse.insert((Peer(0), Lane::Request));
    world.rank(1).try_bulk(Peer(0), Lane::Request, 3000, SHAPES);
    let mut sent = 0;
    for i in 0..6 {
        let rank = world.rank(0);
        sent += usize::from(if (i == 0) == bulk {
            rank.try_bulk(Peer(1), Lane::Request, 3000, SHAPES)
        } else {
            rank.try_small(Peer(1), Lane::Request, 40 + i)
        });
    }
    assert!(sent > 0, "an idle lane has room");
    world.until("the refusal", |w| w.rank(1).recorder.failed.contains_key(&Peer(0)));
    expect_failed(&mut world, 1, 0, Some(FailureKind::Protocol));
    let detail = &world.rank(1).recorder.failed[&Peer(0)].detail;
    assert!(detail.contains("refused by the test"), "C7: the reason is lost in {detail:?}");
    // The refused side must learn of it, or it would wait for ever.
    expect_failed(&mut world, 0, 1, None);
    for rank in 0..2 {
        assert!(world.rank(rank).recorder.outgoing.is_empty(), "C4: bodies without bulk_sent");
    }
    world.settle_all();
    world.finish_checks();
    let lost = world.ledger.on_their_way(|s| s.from == Peer(0) && s.to == Peer(1));
    assert_eq!(lost, sent, "nothing after the refused packet is handed over");
    world.ledger.forget(Peer(0));
    world.ledger.forget(Peer(1));
    for (a, b) in [(0, 2), (2, 1)] {
        for i in 0..20 {
            world.send(a, b, Lane::Request, 1 + i);
            world.send(b, a, Lane::Response, 1 + i);
        }
    }
    world.until_all_arrived();
    assert!(world.rank(2).recorder.failed.is_empty());
}

/// A small packet that the sink refuses.
pub fn c7_a_refused_packet_fails_that_peer_only(bench: &mut Bench) {
    refusal(bench, false);
}

/// A bulk head that the sink refuses: its body lands nowhere.
pub fn c7_a_refused_bulk_fails_that_peer_only(bench: &mut Bench) {
    refusal(bench, true);
}

/// Ranks close one after the other and go; the others see no failure and close as well.
pub fn c7_goodbye_is_not_a_failure(bench: &mut Bench) {
    let mut world = bench.world(4);
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        world.introduce(a, b);
    }
    world.until("the first rank to close while the others work", |w| w.rank(0).close());
    drop(world.rank(0).take_channel());
    world.settle_all();
    world.introduce(1, 2);
    world.until("the rest to close together", |w| {
        for rank in 1..4 {
            if w.rank(rank).is_alive() && w.rank(rank).close() {
                drop(w.rank(rank).take_channel());
            }
        }
        (1..4).all(|rank| !w.rank(rank).is_alive())
    });
    for rank in &world.ranks {
        assert!(rank.recorder.failed.is_empty(), "C7: a goodbye was taken for a failure: {}", rank.report());
    }
}

/// Closing waits for what was committed, bodies included; the receiver gets all of it.
pub fn c7_everything_committed_leaves_before_goodbye(bench: &mut Bench) {
    let size = bench.fixture.largest_body().min(200_000);
    let mut world = bench.world(2);
    world.introduce(0, 1);
    world.away = vec![Peer(1)];
    for i in 0..20 {
        let lane = Lane::ALL[i % 2];
        if i % 7 == 6 {
            world.rank(0).try_bulk(Peer(1), lane, size, SHAPES);
        } else {
            world.rank(0).try_small(Peer(1), lane, 1 + 5 * i);
        }
    }
    for _ in 0..10 {
        let _ = world.rank(0).close();
        world.step();
    }
    world.away.clear();
    world.until("the sender to close", |w| w.rank(0).close());
    assert!(world.rank(0).recorder.outgoing.is_empty(), "C4: closed with bodies under way");
    drop(world.rank(0).take_channel());
    world.until("the receiver to have everything", |w| w.ledger.on_their_way(|_| true) == 0);
    world.settle_all();
    world.finish_checks();
    assert!(world.rank(1).recorder.failed.is_empty());
}
