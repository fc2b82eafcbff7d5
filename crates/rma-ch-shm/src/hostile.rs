//! The channel against processes that do not keep to the rules: unauthenticated connections, and peers of the node that write nonsense.
//!
//! The other side is played with this crate's own parts.

use crate::block::Block;
use crate::channel::{ShmChannel, ShmSettings};
use crate::config::ShmConfig;
use crate::handshake::{self, Introduction, LONGEST, Message, Refusal};
use crate::identity::{Identity, Service};
use crate::layout::{BODY_LEN, Geometry, LINE, RingPlace, Side};
use crate::link::Doorbell;
use crate::ring::{Header, Kind, Producer};
use crate::segment::{Mapping, SharedMemory};
use crate::sockets;
use crate::testing::{Random, with_gather};
use rma_core::channel::{
    Budget, BulkToken, Channel, Delivery, Failure, FailureKind, Lane, Placement, Polled, Room, Sink, Source,
};
use rma_core::datatype::Scatter;
use rma_core::ids::Peer;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const SECRET: [u8; 32] = [5; 32];
const SIZE: u32 = 4;
const BUDGET: Budget = Budget { packets: 64, bytes: 1 << 20 };

fn config() -> ShmConfig {
    ShmConfig { ring_bytes: 1024, packet_bytes: 512, check_interval: 1, ..ShmConfig::default() }
}

/// The victim, process 0.
struct Victim {
    channel: ShmChannel,
    seen: Seen,
    job: String,
}

/// What it received.
#[derive(Default)]
struct Seen {
    packets: Vec<(Peer, Vec<u8>)>,
    bodies: usize,
    failed: Vec<(Peer, Failure)>,
    sent: Vec<BulkToken>,
}

impl Victim {
    fn new(test: &str) -> Self {
        let job = format!("hostile-{test}-{}", std::process::id());
        Self { channel: open(0, &job), seen: Seen::default(), job }
    }

    fn poll(&mut self) -> Polled {
        self.channel.poll(&mut self.seen, BUDGET)
    }

    /// Polls until nothing moves any more.
    fn settle(&mut self) {
        let mut quiet = 0;
        for _ in 0..100_000 {
            quiet = if self.poll().is_idle() { quiet + 1 } else { 0 };
            if quiet == 3 {
                return;
            }
        }
        panic!("it never comes to rest");
    }

    /// A peer that behaves still gets through.
    fn check_that_it_lives(&mut self, peer: u32) {
        let mut other = open(peer, &self.job);
        let mut seen = Seen::default();
        send(&mut other, 0, b"hello");
        for _ in 0..10 {
            let _ = self.poll();
        }
        assert_eq!(self.seen.packets.pop(), Some((Peer(peer), b"hello".to_vec())));
        send(&mut self.channel, peer, b"and you");
        let _ = other.poll(&mut seen, BUDGET);
        assert_eq!(seen.packets, [(Peer(0), b"and you".to_vec())]);
    }

    fn the_failure_of(&self, peer: u32) -> &Failure {
        let [(failed, failure)] = &self.seen.failed[..] else { panic!("failures: {:?}", self.seen.failed) };
        assert_eq!(*failed, Peer(peer));
        failure
    }
}

fn open(me: u32, job: &str) -> ShmChannel {
    let settings =
        ShmSettings { me: Peer(me), size: SIZE, job: job.to_owned(), secret: SECRET, config: config() };
    ShmChannel::new(settings).unwrap()
}

fn send(channel: &mut ShmChannel, to: u32, bytes: &[u8]) {
    assert_eq!(channel.reserve(Peer(to), Lane::Request, bytes.len()).unwrap(), Room::Granted);
    channel.fill(Source::Bytes(bytes));
    channel.commit();
}

impl Sink for Seen {
    fn packet(&mut self, from: Peer, _: Lane, bytes: &[u8]) -> Delivery {
        self.packets.push((from, bytes.to_vec()));
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], body_len: u64) -> Placement {
        Placement::Into(Scatter::discard(body_len))
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {
        self.bodies += 1;
    }

    fn bulk_sent(&mut self, token: BulkToken) {
        self.sent.push(token);
    }

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, peer: Peer, failure: Failure) {
        self.failed.push((peer, failure));
    }
}

/// Process 1, which does as it likes.
struct Villain {
    introduction: Introduction,
    geometry: Geometry,
    memory: SharedMemory,
    doorbell: Doorbell,
    connection: OwnedFd,
}

impl Villain {
    /// Connects to the victim, and says nothing yet.
    fn unauthenticated(victim: &Victim) -> Self {
        let geometry = Geometry::new(&config());
        let len = geometry.block_len() as u64;
        let identity = Identity::new(victim.job.clone(), SECRET);
        let connection = sockets::connect_to(identity.addresses(Service::Channel, Peer(0))).unwrap();
        Self {
            introduction: Introduction::new(identity, Peer(1), SIZE, geometry),
            geometry,
            memory: SharedMemory::create(len, len, &config()).unwrap(),
            doorbell: Doorbell::new().unwrap(),
            connection,
        }
    }

    /// Connected as a peer should.
    fn inside(victim: &mut Victim) -> Self {
        let villain = Self::unauthenticated(victim);
        villain.hello(&[villain.memory.as_fd(), villain.doorbell.as_fd()]);
        let _ = victim.poll();
        assert_eq!(villain.answer(), Some(Ok(Message::Welcome(Peer(0)))));
        assert_eq!(victim.channel.usage().peers, 1);
        villain
    }

    fn hello(&self, descriptors: &[BorrowedFd<'_>]) {
        self.say(&self.introduction.hello(Peer(0)), descriptors);
    }

    fn say(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) {
        sockets::send(&self.connection, bytes, descriptors).unwrap();
    }

    /// What the victim said, if anything.
    fn answer(&self) -> Option<Result<Message, Refusal>> {
        let message = sockets::receive::<LONGEST>(&self.connection).ok()?;
        (!message.bytes().is_empty()).then(|| self.introduction.read(message.bytes()))
    }

    fn block(&self) -> Arc<Block> {
        Arc::new(Block::new(Mapping::new(&self.memory).unwrap()))
    }

    fn ring(&self, side: Side) -> RingPlace {
        self.geometry.ring(side, Lane::Request)
    }

    fn producer(&self) -> Producer {
        Producer::new(self.block(), self.ring(Side::Initiator))
    }
}

fn put(producer: &mut Producer, kind: Kind, bytes: &[u8]) {
    assert_eq!(producer.has_room(bytes.len()), Ok(true));
    producer.put(0, bytes);
    producer.publish(Header { kind, len: bytes.len() });
}

#[test]
fn unauthenticated_connections_get_a_refusal_and_leave_no_trace() {
    let mut victim = Victim::new("unauthenticated");
    let other_job = Identity::new("other".to_owned(), SECRET);
    let other_secret = Identity::new(victim.job.clone(), [6; 32]);
    let own = Identity::new(victim.job.clone(), SECRET);
    let (same, larger) = (Geometry::new(&config()), Geometry::new(&ShmConfig::default()));
    for (introduction, reason) in [
        (Introduction::new(other_job, Peer(1), SIZE, same), Refusal::Proof),
        (Introduction::new(other_secret, Peer(1), SIZE, same), Refusal::Proof),
        (Introduction::new(own.clone(), Peer(0), SIZE, same), Refusal::Number),
        (Introduction::new(own.clone(), Peer(4), SIZE, same), Refusal::Number),
        (Introduction::new(own.clone(), Peer(1), SIZE + 1, same), Refusal::Number),
        (Introduction::new(own, Peer(1), SIZE, larger), Refusal::Sizes),
    ] {
        let villain = Villain::unauthenticated(&victim);
        let hello = introduction.hello(Peer(0));
        villain.say(&hello, &[villain.memory.as_fd(), villain.doorbell.as_fd()]);
        victim.settle();
        assert_eq!(villain.answer(), Some(Ok(Message::Refusal(reason))));
        assert_eq!(victim.channel.usage().peers, 0);
    }
    victim.check_that_it_lives(2);
    assert!(victim.seen.failed.is_empty());
}

#[test]
fn a_hello_with_other_descriptors_is_refused() {
    let mut victim = Victim::new("descriptors");
    let villain = Villain::unauthenticated(&victim);
    let good = villain.geometry.block_len() as u64;
    let (pipe, _writer) = rustix::pipe::pipe().unwrap();
    let short = SharedMemory::create(good - 1, good, &config()).unwrap();
    let unsealed = rustix::fs::memfd_create(c"x", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::ftruncate(&unsealed, good).unwrap();
    let (memory, doorbell) = (villain.memory.as_fd(), villain.doorbell.as_fd());
    for descriptors in [
        &[][..],
        &[memory],
        &[doorbell, memory],
        &[memory, memory],
        &[pipe.as_fd(), doorbell],
        &[memory, pipe.as_fd()],
        &[short.as_fd(), doorbell],
        &[unsealed.as_fd(), doorbell],
    ] {
        let villain = Villain::unauthenticated(&victim);
        villain.hello(descriptors);
        victim.settle();
        assert_eq!(villain.answer(), Some(Ok(Message::Refusal(Refusal::Descriptors))), "{descriptors:?}");
        assert_eq!(victim.channel.usage().peers, 0);
    }
    victim.check_that_it_lives(2);
}

#[test]
fn any_first_message_is_survived_and_so_are_connections_that_say_nothing() {
    let mut victim = Victim::new("first");
    let mut random = Random::new(11);
    for round in 0..500 {
        let villain = Villain::unauthenticated(&victim);
        let mut bytes = villain.introduction.hello(Peer(0)).to_vec();
        match round % 4 {
            0 => {
                let len = 1 + random.below(200);
                bytes = random.bytes(len);
            }
            1 => {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            2 => bytes.truncate(1 + random.below(LONGEST - 1)),
            _ => bytes.push(0),
        }
        villain.say(&bytes, &[villain.memory.as_fd(), villain.doorbell.as_fd()]);
        victim.settle();
        assert!(matches!(villain.answer(), Some(Ok(Message::Refusal(_)))), "{bytes:?}");
    }
    let silent: Vec<_> = (0..600).map(|_| Villain::unauthenticated(&victim)).collect();
    victim.settle();
    assert_eq!(victim.channel.usage().peers, 0);
    victim.check_that_it_lives(2);
    // Those that were not turned away can still make themselves known.
    silent[599].hello(&[silent[599].memory.as_fd(), silent[599].doorbell.as_fd()]);
    victim.settle();
    assert_eq!(silent[599].answer(), Some(Ok(Message::Welcome(Peer(0)))));
}

#[test]
fn a_second_hello_does_not_disturb_the_first() {
    let mut victim = Victim::new("second");
    let first = Villain::inside(&mut victim);
    let second = Villain::unauthenticated(&victim);
    second.hello(&[second.memory.as_fd(), second.doorbell.as_fd()]);
    victim.settle();
    assert_eq!(second.answer(), Some(Ok(Message::Refusal(Refusal::Repeated))));
    put(&mut first.producer(), Kind::Packet, b"still here");
    victim.settle();
    assert_eq!(victim.seen.packets, [(Peer(1), b"still here".to_vec())]);
    assert!(victim.seen.failed.is_empty());
}

#[test]
fn records_that_break_the_order_fail_that_peer_with_the_reason() {
    type Attack = fn(&mut Producer);
    let attacks: [(&str, Attack); 8] = [
        ("a packet longer than the limit", |ring| put(ring, Kind::Packet, &[0; 513])),
        ("a bulk head of a wrong length", |ring| put(ring, Kind::BulkHead, &[1; BODY_LEN])),
        ("a bulk head of a wrong length", |ring| put(ring, Kind::BulkHead, &[1; BODY_LEN + 513])),
        ("a body of an impossible length", |ring| put(ring, Kind::BulkHead, &[0; BODY_LEN + 1])),
        ("a body of an impossible length", |ring| put(ring, Kind::BulkHead, &[255; BODY_LEN + 1])),
        ("a piece of a body without a head", |ring| put(ring, Kind::Body, &[1])),
        ("a packet in the middle of a body", |ring| {
            put(ring, Kind::BulkHead, &[9, 0, 0, 0, 0, 0, 0, 0, 1]);
            put(ring, Kind::Packet, &[1]);
        }),
        ("more body than was announced", |ring| {
            put(ring, Kind::BulkHead, &[9, 0, 0, 0, 0, 0, 0, 0, 1]);
            put(ring, Kind::Body, &[1; 10]);
        }),
    ];
    for (reason, attack) in attacks {
        let mut victim = Victim::new("order");
        let villain = Villain::inside(&mut victim);
        let mut ring = villain.producer();
        put(&mut ring, Kind::Packet, b"good");
        attack(&mut ring);
        put(&mut ring, Kind::Packet, b"late");
        victim.settle();
        assert_eq!(victim.seen.packets, [(Peer(1), b"good".to_vec())], "{reason}");
        assert_eq!(victim.seen.bodies, 0);
        let failure = victim.the_failure_of(1);
        assert_eq!(failure.kind, FailureKind::Protocol);
        assert!(failure.detail.contains(reason) && failure.detail.contains("process 1"), "{failure}");
        assert_eq!(villain.answer(), Some(Ok(Message::Refusal(Refusal::Packet))));
        victim.check_that_it_lives(2);
    }
}

#[test]
fn a_false_index_fails_the_peer_when_it_is_sent_to() {
    let mut victim = Victim::new("index");
    let villain = Villain::inside(&mut victim);
    let fill = |channel: &mut ShmChannel| loop {
        match channel.reserve(Peer(1), Lane::Request, 512) {
            Ok(Room::Granted) => {
                channel.fill(Source::Bytes(&[7; 512]));
                channel.commit();
            }
            other => return other,
        }
    };
    assert_eq!(fill(&mut victim.channel), Ok(Room::Full));
    let body = vec![1; 100_000];
    // The body is held until the peer fails, which is before it is dropped.
    with_gather(&body, |gather| {
        let bulk = victim.channel.send_bulk(Peer(1), Lane::Response, b"head", gather.clone(), BulkToken(8));
        assert_eq!(bulk, Ok(Room::Granted));
        let place = villain.ring(Side::Acceptor);
        villain.block().store(place.consumed, 1 << 40, Relaxed);
        let failure = fill(&mut victim.channel).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Protocol);
        assert_eq!(victim.channel.connect(Peer(1)), Ok(()), "it is reported first");
        victim.settle();
    });
    assert!(victim.the_failure_of(1).detail.contains("more than was sent"));
    assert_eq!(victim.seen.sent, [BulkToken(8)]);
    assert!(victim.channel.connect(Peer(1)).is_err());
    victim.check_that_it_lives(2);
}

#[test]
fn any_bytes_in_the_rings_cost_the_peer_its_connection_at_most() {
    for seed in 0..300 {
        let mut victim = Victim::new("random");
        let villain = Villain::inside(&mut victim);
        let (block, mut random) = (villain.block(), Random::new(seed));
        let place = villain.ring(Side::Initiator);
        for _ in 0..50 {
            let words = 1 + random.below(20);
            for _ in 0..words {
                let (at, word) = match random.below(3) {
                    0 => (random.below(block.len() / 8) * 8, random.next()),
                    1 => {
                        let header = random.below(600) as u64 | (1 + random.below(3) as u64) << 32;
                        (place.data + random.below(place.lines as usize) * LINE, header)
                    }
                    _ => (
                        place.data + random.below(place.lines as usize * LINE / 8) * 8,
                        random.below(700) as u64,
                    ),
                };
                block.store(at, word, Relaxed);
            }
            let _ = victim.poll();
            if let Ok(Room::Granted) = victim.channel.reserve(Peer(1), Lane::Response, 100) {
                victim.channel.fill(Source::Bytes(&[0; 100]));
                victim.channel.commit();
            }
            let _ = victim.channel.arm();
        }
        assert!(victim.seen.failed.len() <= 1, "seed {seed}: {:?}", victim.seen.failed);
        victim.seen.packets.clear();
        if !victim.seen.failed.is_empty() {
            assert_eq!(victim.the_failure_of(1).kind, FailureKind::Protocol, "seed {seed}");
        }
    }
}

#[test]
fn messages_that_do_not_belong_there_fail_the_peer_and_knocks_do_not() {
    let mut victim = Victim::new("messages");
    let villain = Villain::inside(&mut victim);
    for _ in 0..50 {
        villain.say(&handshake::knock(), &[]);
    }
    victim.settle();
    assert!(victim.seen.failed.is_empty());
    villain.say(b"what is this", &[]);
    victim.settle();
    let failure = victim.the_failure_of(1);
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert_eq!(villain.answer(), Some(Ok(Message::Refusal(Refusal::Message))));
    victim.check_that_it_lives(2);
}

#[test]
fn a_false_welcome_fails_the_peer() {
    for (peer, is_good) in [(Peer(1), true), (Peer(2), false)] {
        let mut victim = Victim::new("welcome");
        let villain = Villain::unauthenticated(&victim);
        let addresses = villain.introduction.identity().addresses(Service::Channel, Peer(1));
        let listener = sockets::listen_at(addresses, 1).unwrap();
        send(&mut victim.channel, 1, b"which one are you?");
        let connection = sockets::accept_own(&listener, &mut 0).unwrap();
        let hello = sockets::receive::<LONGEST>(&connection).unwrap();
        assert_eq!(villain.introduction.read(hello.bytes()), Ok(Message::Hello(Peer(0))));
        assert_eq!(hello.descriptors.len(), 2);
        let identity = Identity::new(victim.job.clone(), SECRET);
        let answer = Introduction::new(identity, peer, SIZE, villain.geometry).welcome(Peer(0));
        sockets::send(&connection, &answer, &[villain.doorbell.as_fd()]).unwrap();
        victim.settle();
        if is_good {
            assert!(victim.seen.failed.is_empty());
        } else {
            assert_eq!(victim.the_failure_of(1).kind, FailureKind::Protocol);
        }
    }
}
