//! The wrappers of the core over simulated channels: they keep the whole contract, and do what they are for.

use rma_ch_sim::{SimConfig, SimNet};
use rma_core::channel::conformance::Fixture;
use rma_core::channel::{
    Budget, BulkToken, Channel, Closing, Delivery, Failure, Lane, Placement, Room, Router, Sink, Source,
    TraceLog, Tracer,
};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use rma_core::mem::ReadSpan;
use std::io;
use std::sync::{Arc, Mutex};

/// Pairs with an even sum of ranks meet on one network, the others on a second one with shorter packets.
fn router(nets: &[SimNet; 2], me: u32) -> Router {
    let parts = nets.iter().map(|net| Box::new(net.channel(Peer(me))) as Box<dyn Channel>).collect();
    Router::new(parts, Box::new(move |peer| (peer.0 + me) as usize % 2))
}

fn two_nets(ranks: u32, config: &SimConfig) -> [SimNet; 2] {
    let short = SimConfig { max_packet: 200, bulk_from: 150, ..config.clone() };
    [SimNet::real_time(ranks, config.clone()), SimNet::real_time(ranks, short)]
}

struct Routed(SimConfig);

impl Fixture for Routed {
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
        let nets = two_nets(count, &self.0);
        (0..count).map(|me| Box::new(router(&nets, me)) as Box<dyn Channel>).collect()
    }

    fn largest_body(&self) -> usize {
        100_003
    }
}

mod routed {
    use super::*;
    rma_core::channel_conformance!(Routed(SimConfig::default()));
}

mod routed_smallest {
    use super::*;
    rma_core::channel_conformance!(Routed(SimConfig { body_step_bytes: 1000, ..SimConfig::smallest() }));
}

struct Traced(TraceLog);

impl Fixture for Traced {
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
        let net = SimNet::real_time(count, SimConfig::default());
        let traced = |me| Tracer::new(Peer(me), Box::new(net.channel(Peer(me))), self.0.clone());
        (0..count).map(|me| Box::new(traced(me)) as Box<dyn Channel>).collect()
    }

    fn largest_body(&self) -> usize {
        100_003
    }
}

mod traced {
    use super::*;
    rma_core::channel_conformance!(Traced(TraceLog::new(10)));
}

/// Counts, and drops everything.
#[derive(Default)]
struct Count {
    packets: Vec<Peer>,
}

impl Sink for Count {
    fn packet(&mut self, from: Peer, _: Lane, _: &[u8]) -> Delivery {
        self.packets.push(from);
        Delivery::Accepted
    }

    fn bulk(&mut self, from: Peer, _: Lane, _: &[u8], body_len: u64) -> Placement {
        self.packets.push(from);
        Placement::Into(Scatter::discard(body_len))
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, peer: Peer, failure: Failure) {
        panic!("{peer:?} failed: {failure}");
    }
}

fn send(channel: &mut dyn Channel, to: u32, lane: Lane, bytes: &[u8]) {
    assert_eq!(channel.reserve(Peer(to), lane, bytes.len()), Ok(Room::Granted));
    channel.fill(Source::Bytes(bytes));
    channel.commit();
}

#[test]
fn a_router_promises_what_all_parts_can_and_tells_what_one_peer_can() {
    let nets = two_nets(3, &SimConfig::default());
    let router = router(&nets, 0);
    assert_eq!((router.capabilities().max_packet, router.capabilities().bulk_from), (200, 150));
    assert_eq!((router.capabilities().name, router.capabilities_for(Peer(1)).name), ("mixed", "sim"));
    assert_eq!(router.capabilities_for(Peer(1)).max_packet, 200);
    assert_eq!(router.capabilities_for(Peer(2)).max_packet, 4096);
    let only = Router::new(vec![Box::new(nets[0].channel(Peer(1)))], Box::new(|_| 0));
    assert_eq!(only.capabilities().name, "sim");
}

#[test]
fn no_part_of_a_router_starves_behind_a_busy_one() {
    let nets = two_nets(3, &SimConfig::default());
    let mut ranks: Vec<Router> = (0..3).map(|me| router(&nets, me)).collect();
    let mut count = Count::default();
    let (packets, bytes) = (1, 1 << 20);
    for _ in 0..20 {
        // Rank 1 and rank 2 reach rank 0 through different parts; both always have more than one poll takes.
        for from in [1, 2] {
            if let Ok(Room::Granted) = ranks[from].reserve(Peer(0), Lane::Request, 8) {
                ranks[from].fill(Source::Bytes(&[0; 8]));
                ranks[from].commit();
            }
        }
        let polled = ranks[0].poll(&mut count, Budget { packets, bytes });
        assert!(polled.packets <= 1);
    }
    let from_1 = count.packets.iter().filter(|p| **p == Peer(1)).count();
    assert_eq!((count.packets.len(), from_1), (20, 10));
    // A budget of bytes is shared as well.
    let polled = ranks[0].poll(&mut count, Budget { packets: 64, bytes: 8 });
    assert_eq!((polled.packets, polled.more), (1, true));
}

#[test]
fn a_router_closes_when_all_parts_have() {
    let nets = two_nets(3, &SimConfig::default());
    let mut ranks: Vec<Router> = (0..3).map(|me| router(&nets, me)).collect();
    let body = vec![1u8; 5000];
    // SAFETY: the bytes outlive the routers' last poll, and are not written.
    let gather = Gather::span(unsafe { ReadSpan::new(body.as_ptr(), body.len()) });
    let token = BulkToken(1);
    assert_eq!(ranks[0].send_bulk(Peer(1), Lane::Request, &[1], gather, token), Ok(Room::Granted));
    send(&mut ranks[0], 2, Lane::Request, &[1]);
    assert_eq!(ranks[0].close(), Closing::Pending);
    let budget = Budget { packets: 64, bytes: 1 << 20 };
    for _ in 0..2 {
        for rank in &mut ranks {
            let _ = rank.poll(&mut Count::default(), budget);
        }
    }
    assert_eq!(ranks[0].close(), Closing::Closed);
    drop(ranks);
}

/// What a test gave as the place for lines.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_tracer_writes_down_what_is_committed_and_nothing_else() {
    let (log, text) = (TraceLog::new(2), Text::default());
    log.lines_to(text.clone(), |event| format!("{event} starts with {}", event.head[0]));
    let net = SimNet::real_time(3, SimConfig { lane_packets: 2, ..SimConfig::default() });
    let mut tracer = Tracer::new(Peer(0), Box::new(net.channel(Peer(0))), log.clone());
    let bytes: Vec<u8> = (10..210).collect();
    // SAFETY: the bytes outlive the channel, and are not written.
    let span = unsafe { ReadSpan::new(bytes.as_ptr(), bytes.len()) };

    assert_eq!(tracer.reserve(Peer(1), Lane::Request, 5), Ok(Room::Granted));
    assert_eq!(tracer.reserve(Peer(1), Lane::Request, 205), Ok(Room::Granted));
    tracer.fill(Source::Bytes(&bytes[..5]));
    tracer.fill(Source::Memory(&mut Gather::span(span)));
    tracer.commit();
    let bulk = |tracer: &mut Tracer| {
        tracer.send_bulk(Peer(1), Lane::Request, &bytes[..70], Gather::span(span), BulkToken(1))
    };
    assert_eq!(bulk(&mut tracer), Ok(Room::Granted));
    assert_eq!(bulk(&mut tracer), Ok(Room::Full));
    assert_eq!(tracer.reserve(Peer(1), Lane::Request, 5), Ok(Room::Full));
    send(&mut tracer, 2, Lane::Response, &[9]);

    assert_eq!(log.total(), 3);
    assert_eq!(log.count(|e| e.channel == "sim" && e.from == Peer(0)), 2, "two are kept");
    let lines = String::from_utf8(text.0.lock().unwrap().clone()).unwrap();
    let expected = "0 sim 0 → 1 request 205 starts with 10\n\
                    1 sim 0 → 1 request 70+200 starts with 10\n\
                    2 sim 0 → 2 response 1 starts with 9\n";
    assert_eq!(lines, expected);
    let events = log.take();
    assert_eq!((events[0].head.len(), events[0].body_len), (64, 200));
    assert_eq!(events[0].head[..], bytes[..64]);
    assert_eq!((log.events().len(), log.total()), (0, 3));
}

#[test]
fn a_tracer_sees_the_head_of_a_packet_filled_in_pieces() {
    let log = TraceLog::new(1);
    let net = SimNet::real_time(2, SimConfig::default());
    let mut tracer = Tracer::new(Peer(0), Box::new(net.channel(Peer(0))), log.clone());
    let bytes: Vec<u8> = (0..200).collect();
    assert_eq!(tracer.reserve(Peer(1), Lane::Request, 200), Ok(Room::Granted));
    for (from, to) in [(0, 3), (3, 3), (3, 60), (60, 90), (90, 200)] {
        if from == 60 {
            // SAFETY: the bytes outlive the call, and are not written.
            let span = unsafe { ReadSpan::new(bytes[from..to].as_ptr(), to - from) };
            tracer.fill(Source::Memory(&mut Gather::span(span)));
        } else {
            tracer.fill(Source::Bytes(&bytes[from..to]));
        }
    }
    tracer.commit();
    assert_eq!(log.events()[0].head[..], bytes[..64]);
    assert_eq!(log.events()[0].len, 200);
}
