//! The scheduler of virtual time: order, replay, deadlocks, faults, and the cost of many ranks.

use rma_ch_sim::{Context, Fault, Latency, SimChannel, SimConfig, SimHost, SimWorld, Step};
use rma_core::channel::{
    Budget, BulkToken, Channel, Delivery, Failure, FailureKind, Lane, Placement, Room, Sink, Source,
};
use rma_core::datatype::Scatter;
use rma_core::host::{Group, Host, Outcome};
use rma_core::ids::{Peer, Rank};
use std::cell::{Cell, RefCell};
use std::time::Duration;

const BUDGET: Budget = Budget { packets: 16, bytes: 1 << 16 };

/// Keeps what arrived.
#[derive(Default)]
struct Inbox {
    packets: Vec<(Peer, Lane, Vec<u8>)>,
    failed: Vec<(Peer, FailureKind)>,
}

impl Sink for Inbox {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        self.packets.push((from, lane, bytes.to_vec()));
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], body_len: u64) -> Placement {
        Placement::Into(Scatter::discard(body_len))
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, peer: Peer, failure: Failure) {
        self.failed.push((peer, failure.kind));
    }
}

fn send(channel: &mut SimChannel, to: Peer, lane: Lane, bytes: &[u8]) -> bool {
    match channel.reserve(to, lane, bytes.len()) {
        Ok(Room::Granted) => {
            channel.fill(Source::Bytes(bytes));
            channel.commit();
            true
        }
        Ok(Room::Full) => false,
        Err(failure) => panic!("{failure}"),
    }
}

/// A token that goes round `rounds` times; returns the order in which ranks had it, and the report.
fn token_ring(ranks: u32, rounds: u32, seed: u64) -> (Vec<u32>, rma_ch_sim::WorldReport) {
    let order = RefCell::new(Vec::new());
    let mut world = SimWorld::new(ranks, SimConfig::smallest(), Latency::default(), seed);
    for me in (0..ranks).map(Peer) {
        let mut channel = world.net().channel(me);
        let mut inbox = Inbox::default();
        let mut turns = 0;
        let mut is_started = false;
        let order = &order;
        world.spawn(me, move |_: &mut Context<'_>| {
            if me == Peer(0) && !is_started {
                is_started = true;
                assert!(send(&mut channel, Peer(1 % ranks), Lane::Request, &[7]));
            }
            let polled = channel.poll(&mut inbox, BUDGET);
            while inbox.packets.pop().is_some() {
                order.borrow_mut().push(me.0);
                turns += 1;
                if me != Peer(0) || turns < rounds {
                    assert!(send(&mut channel, Peer((me.0 + 1) % ranks), Lane::Request, &[7]));
                }
            }
            match () {
                () if turns == rounds => Step::Done,
                () if polled.is_idle() => Step::Wait("the token".into()),
                () => Step::Again,
            }
        });
    }
    let report = world.run(1_000_000).unwrap_or_else(|stuck| panic!("{stuck}"));
    drop(world);
    (order.into_inner(), report)
}

#[test]
fn equal_seeds_replay_and_others_do_not() {
    let (order, report) = token_ring(5, 3, 11);
    assert_eq!(order, [1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0]);
    assert_eq!(token_ring(5, 3, 11), (order, report));
    assert_ne!(token_ring(5, 3, 12).1, report);
}

/// Two senders in two lanes: streams overtake each other, and keep their own order.
#[test]
fn streams_overtake_each_other_but_never_themselves() {
    let arrived = RefCell::new(Vec::new());
    let latency = Latency(Duration::from_micros(1)..=Duration::from_micros(100));
    let mut world = SimWorld::new(3, SimConfig { lane_packets: 64, ..SimConfig::default() }, latency, 5);
    for me in [Peer(1), Peer(2)] {
        let mut channel = world.net().channel(me);
        let mut i = 0u8;
        world.spawn(me, move |_: &mut Context<'_>| {
            for lane in Lane::ALL {
                assert!(send(&mut channel, Peer(0), lane, &[i]));
            }
            i += 1;
            if i < 40 { Step::Again } else { Step::Done }
        });
    }
    let mut channel = world.net().channel(Peer(0));
    let mut inbox = Inbox::default();
    let all = &arrived;
    world.spawn(Peer(0), move |_: &mut Context<'_>| {
        let _ = channel.poll(&mut inbox, BUDGET);
        all.borrow_mut().append(&mut inbox.packets);
        if all.borrow().len() == 160 { Step::Done } else { Step::Wait("160 packets".into()) }
    });
    world.run(100_000).unwrap_or_else(|stuck| panic!("{stuck}"));
    drop(world);
    let arrived = arrived.into_inner();
    let mut overtakings = 0;
    for from in [Peer(1), Peer(2)] {
        for lane in Lane::ALL {
            let stream: Vec<u8> =
                arrived.iter().filter(|p| p.0 == from && p.1 == lane).map(|p| p.2[0]).collect();
            assert!(stream.iter().copied().eq(0..40), "{from} {lane:?}: {stream:?}");
        }
        let mixed: Vec<u8> = arrived.iter().filter(|p| p.0 == from).map(|p| p.2[0]).collect();
        overtakings += mixed.windows(2).filter(|w| w[1] < w[0]).count();
    }
    assert!(overtakings > 0, "no lane ever overtook another");
}

#[test]
fn a_deadlock_names_every_rank_and_what_it_waits_for() {
    let mut world = SimWorld::new(3, SimConfig::default(), Latency::default(), 9);
    for me in [0, 1] {
        let mut channel = world.net().channel(Peer(me));
        world.spawn(Peer(me), move |_: &mut Context<'_>| {
            let _ = channel.poll(&mut Inbox::default(), BUDGET);
            Step::Wait(format!("a packet of rank {}", 1 - me).into())
        });
    }
    world.spawn(Peer(2), |_: &mut Context<'_>| Step::Done);
    let stuck = world.run(1000).unwrap_err();
    assert!(stuck.is_deadlock);
    let text = stuck.to_string();
    assert_eq!(stuck.waiting.len(), 2);
    for line in
        ["deadlock", "seed 9", "rank 0 waits for a packet of rank 1", "rank 1 waits for a packet of rank 0"]
    {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}

#[test]
fn the_number_of_steps_is_bounded() {
    let mut world = SimWorld::new(1, SimConfig::default(), Latency::default(), 1);
    world.spawn(Peer(0), |_: &mut Context<'_>| Step::Again);
    let stuck = world.run(500).unwrap_err();
    assert!(!stuck.is_deadlock);
    assert_eq!(stuck.report.steps, 500);
    assert!(stuck.to_string().contains("too many steps"));
}

#[test]
fn time_wakes_a_rank_that_waits_for_it_and_a_pause_stops_one() {
    let (begin, length) = (Duration::from_millis(1), Duration::from_millis(5));
    let longest_gap = Cell::new(Duration::ZERO);
    let mut world = SimWorld::new(2, SimConfig::default(), Latency::default(), 3);
    world.plan(Fault::Pause { rank: Peer(1), at: begin, length });
    for rank in [0, 1] {
        let (mut last, gap) = (Duration::ZERO, &longest_gap);
        world.spawn(Peer(rank), move |context: &mut Context<'_>| {
            let now = context.now();
            let step = now - last;
            if rank == 1 {
                gap.set(gap.get().max(step));
                assert!(last < begin || last >= begin + length || step > Duration::from_millis(4));
            } else {
                assert!(step < Duration::from_micros(200), "rank 0 slept too long: {step:?}");
            }
            last = now;
            if now > Duration::from_millis(10) {
                return Step::Done;
            }
            Step::WaitUntil(now + Duration::from_micros(100), "the time".into())
        });
    }
    let report = world.run(10_000).unwrap_or_else(|stuck| panic!("{stuck}"));
    assert!(report.now > Duration::from_millis(10));
    assert!(longest_gap.get() > Duration::from_millis(4), "the pause did not happen");
}

#[test]
fn a_death_is_seen_by_peers_and_by_collectives() {
    let seen = Cell::new(0);
    let mut world = SimWorld::new(3, SimConfig::default(), Latency::default(), 4);
    world.plan(Fault::Death { rank: Peer(2), at: Duration::from_micros(300) });
    for me in (0..3).map(Peer) {
        let mut channel = world.net().channel(me);
        let host: SimHost = world.net().host(me);
        let group = Group::strided(1, Rank(me.0), Peer(0), 1, 3);
        let mut inbox = Inbox::default();
        let mut barrier = None;
        let seen = &seen;
        world.spawn(me, move |context: &mut Context<'_>| {
            let _ = channel.poll(&mut inbox, BUDGET);
            if me == Peer(2) {
                if context.now() < Duration::from_micros(100) {
                    for to in [0, 1] {
                        let _ = send(&mut channel, Peer(to), Lane::Request, &[1]);
                    }
                }
                return Step::WaitUntil(context.now() + Duration::from_micros(50), "its death".into());
            }
            let request = *barrier.get_or_insert_with(|| host.begin_barrier(&group).expect("all live yet"));
            if inbox.failed.is_empty() {
                return Step::Wait("the death of rank 2".into());
            }
            assert_eq!(inbox.failed, [(Peer(2), FailureKind::Dead)]);
            let error = host.poll(request).expect_err("a member is dead");
            assert!(error.to_string().contains("rank 2 is dead"), "{error}");
            seen.set(seen.get() + 1);
            Step::Done
        });
    }
    world.run(10_000).unwrap_or_else(|stuck| panic!("{stuck}"));
    assert_eq!(seen.get(), 2);
}

/// Ranks 0 and 1 lose each other in the middle of a stream, which ends with what had arrived; rank 2 goes on with both.
#[test]
fn a_broken_connection_is_seen_by_its_ends_alone() {
    const STREAM: usize = 200;
    let heard = RefCell::new(vec![(Vec::new(), Vec::new()); 3]);
    let mut world = SimWorld::new(3, SimConfig::smallest(), Latency::default(), 5);
    world.plan(Fault::Cut { ranks: [Peer(1), Peer(0)], at: Duration::from_micros(300) });
    for me in (0..3).map(Peer) {
        let mut channel = world.net().channel(me);
        let mut inbox = Inbox::default();
        let mut sent = [0; 3];
        let heard = &heard;
        world.spawn(me, move |context: &mut Context<'_>| {
            let _ = channel.poll(&mut inbox, BUDGET);
            for to in (0..3).filter(|to| *to != me.0) {
                let is_lost = inbox.failed.iter().any(|(peer, _)| peer.0 == to);
                let next = sent[to as usize];
                if is_lost {
                    assert!(channel.reserve(Peer(to), Lane::Request, 1).is_err());
                } else if next < STREAM
                    && matches!(channel.reserve(Peer(to), Lane::Request, 1), Ok(Room::Granted))
                {
                    channel.fill(Source::Bytes(&[next as u8]));
                    channel.commit();
                    sent[to as usize] += 1;
                }
            }
            heard.borrow_mut()[me.0 as usize] = (inbox.packets.clone(), inbox.failed.clone());
            match context.now() < Duration::from_millis(20) {
                true => Step::WaitUntil(context.now() + Duration::from_micros(5), "the end".into()),
                false => Step::Done,
            }
        });
    }
    world.run(100_000).unwrap_or_else(|stuck| panic!("{stuck}"));
    drop(world);
    for (me, (packets, failed)) in heard.into_inner().into_iter().enumerate() {
        let other = Peer(1 - me.min(1) as u32);
        let expected = if me < 2 { vec![(other, FailureKind::Unreachable)] } else { Vec::new() };
        assert_eq!(failed, expected, "of rank {me}");
        for from in (0..3).map(Peer).filter(|from| from.0 as usize != me) {
            let stream = packets.iter().filter(|packet| packet.0 == from).map(|packet| packet.2[0]);
            let stream = stream.collect::<Vec<_>>();
            let is_cut = from.0 < 2 && me < 2;
            assert!(stream.iter().copied().eq(0..stream.len() as u8), "{from} to {me}: {stream:?}");
            let is_whole = stream.len() == STREAM;
            assert!(is_whole != is_cut && !stream.is_empty(), "{from} to {me}: {} packets", stream.len());
        }
    }
}

/// Every rank sends to its neighbour and meets all others at a barrier. No state grows with the number of ranks.
#[test]
fn ten_thousand_ranks_meet() {
    const RANKS: u32 = 10_000;
    let config = SimConfig { lane_packets: 1, ..SimConfig::default() };
    let mut world = SimWorld::new(RANKS, config, Latency::default(), 6);
    for me in (0..RANKS).map(Peer) {
        let mut channel = world.net().channel(me);
        let host = world.net().host(me);
        let group = Group::strided(1, Rank(me.0), Peer(0), 1, RANKS);
        let mut inbox = Inbox::default();
        let mut barrier = None;
        let mut is_sent = false;
        world.spawn(me, move |_: &mut Context<'_>| {
            let _ = channel.poll(&mut inbox, BUDGET);
            if !is_sent {
                is_sent = send(&mut channel, Peer((me.0 + 1) % RANKS), Lane::Request, &me.0.to_le_bytes());
            }
            if inbox.packets.is_empty() {
                return Step::Wait("its neighbour".into());
            }
            let before = Peer((me.0 + RANKS - 1) % RANKS);
            assert_eq!(inbox.packets, [(before, Lane::Request, before.0.to_le_bytes().to_vec())]);
            assert_eq!(channel.usage().peers, 2);
            let request = *barrier.get_or_insert_with(|| host.begin_barrier(&group).expect("all live"));
            match host.poll(request).expect("all live") {
                None => Step::Wait("the barrier".into()),
                Some(Outcome::Met) => Step::Done,
                Some(other) => panic!("a barrier gave {other:?}"),
            }
        });
    }
    let report = world.run(1_000_000).unwrap_or_else(|stuck| panic!("{stuck}"));
    assert!(report.steps < 12 * u64::from(RANKS), "{report:?}");
    assert_eq!(world.net().open_collectives(), 0);
}
