//! What a step does with packets from outside its own engine's making: answers of a protocol above leave in
//! the step that has handed the question over, and requests that no process of this job sends are refused
//! before memory is touched.

use rma_ch_sim::{Latency, SimNet};
use rma_core::Engine;
use rma_core::channel::{
    Budget, BulkToken, Channel, Delivery, Failure, FailureKind, Lane, Placement, Polled, Room, Sink,
};
use rma_core::host::Group;
use rma_core::ids::{Disp, Peer, Rank, Sequence, WindowId};
use rma_core::progress::Upper;
use rma_core::window::{Window, WindowSpec};
use rma_core::wire::{Protocol, Request, RequestFlags, RequestKind, TargetPlace, header};
use rma_tests::world::{Setup, local};
use std::sync::{Arc, Mutex};

/// Answers each packet, and notes failed peers. Leaves [`Upper::is_due`] as it is.
#[derive(Clone, Default)]
struct Echo(Arc<Mutex<Notes>>);

#[derive(Default)]
struct Notes {
    owed: Vec<Peer>,
    answered: u32,
    failures: Vec<Failure>,
    received: u32,
    /// How often there was a chance to send.
    chances: u32,
    /// Whether nothing is to be sent because of a packet.
    is_silent: bool,
}

impl Upper for Echo {
    fn packet(&mut self, from: Peer, _: Lane, _: &[u8]) -> Delivery {
        let mut notes = self.0.lock().unwrap();
        notes.received += 1;
        if !notes.is_silent {
            notes.owed.push(from);
        }
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], _: u64) -> Placement {
        Placement::Refused("none is sent")
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn failed(&mut self, _: Peer, failure: &Failure) {
        self.0.lock().unwrap().failures.push(failure.clone());
    }

    fn advance(&mut self, channel: &mut dyn Channel) -> bool {
        let mut notes = self.0.lock().unwrap();
        let Notes { owed, answered, chances, .. } = &mut *notes;
        *chances += 1;
        let before = owed.len();
        owed.retain(|peer| {
            channel.send(*peer, Lane::Response, &header(Protocol::Message)) != Ok(Room::Granted)
        });
        *answered += (before - owed.len()) as u32;
        before > owed.len()
    }

    fn wants_advance(&self) -> bool {
        !self.0.lock().unwrap().is_silent
    }
}

/// Counts packets, and wants nothing else.
#[derive(Default)]
struct Taken(u32);

impl Sink for Taken {
    fn packet(&mut self, _: Peer, _: Lane, _: &[u8]) -> Delivery {
        self.0 += 1;
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], _: u64) -> Placement {
        Placement::Refused("none is sent")
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, _: Peer, _: Failure) {}
}

/// A channel of rank 0, and an engine of rank 1 with a window of its own.
struct Scene {
    net: SimNet,
    villain: Box<dyn Channel>,
    engine: Engine,
    window: Window,
    echo: Echo,
}

impl Scene {
    fn new(setup: &Setup) -> Self {
        let net = SimNet::virtual_time(2, setup.sim.clone(), Latency::default(), 3);
        let echo = Echo::default();
        let (channel, host) = (Box::new(net.channel(Peer(1))), Arc::new(net.host(Peer(1))));
        let engine = Engine::new(setup.engine.clone(), channel, host, Box::new(echo.clone())).unwrap();
        let alone = Group::strided(0, Rank(0), Peer(1), 1, 1);
        let window = engine.create_window(alone, WindowSpec::Allocate { len: 64, unit: 8 }).unwrap();
        Self { villain: Box::new(net.channel(Peer(0))), net, engine, window, echo }
    }

    fn send(&mut self, packet: &[u8]) {
        assert_eq!(self.villain.send(Peer(1), Lane::Request, packet), Ok(Room::Granted));
        for _ in 0..100 {
            let _ = self.poll_villain(&mut Taken::default(), 0);
            self.net.advance();
        }
    }

    /// Lets both sides go on until something holds, which is a matter of a few rounds.
    fn until(&mut self, what: &str, taken: &mut Taken, is_so: impl Fn(&Self, &Taken) -> bool) {
        for _ in 0..100 {
            if is_so(self, taken) {
                return;
            }
            self.engine.poll();
            let _ = self.poll_villain(taken, 8);
            self.net.advance();
        }
        panic!("not within 100 rounds: {what}");
    }

    fn answered(&self) -> u32 {
        self.echo.0.lock().unwrap().answered
    }

    fn owed(&self) -> usize {
        self.echo.0.lock().unwrap().owed.len()
    }

    fn poll_villain(&mut self, taken: &mut Taken, packets: u32) -> Polled {
        self.villain.poll(taken, Budget { packets, bytes: 1 << 20 })
    }

    /// Why the engine has given rank 0 up, after this packet.
    fn refusal(mut self, request: &Request, data: &[u8]) -> String {
        self.send(&[&request.emit()[..], data].concat());
        (0..100).for_each(|_| _ = self.engine.poll());
        let notes = self.echo.0.lock().unwrap();
        assert_eq!(notes.failures.len(), 1, "{request:?}");
        assert_eq!(notes.failures[0].kind, FailureKind::Protocol);
        assert_eq!([0, 1, 2].map(|at| local(&self.window, at)), [0; 3], "nothing was written");
        assert_eq!(self.window.counters().bytes_received, 0);
        notes.failures[0].detail.clone()
    }
}

#[test]
fn an_answer_of_a_protocol_above_leaves_in_the_step_that_brought_the_question() {
    let mut scene = Scene::new(&Setup::packets(2));
    for round in 1..=3 {
        scene.send(&header(Protocol::Message));
        let mut polls = 0;
        while scene.answered() < round {
            assert_eq!(scene.owed(), 0, "a step has left the answer behind");
            scene.engine.poll();
            polls += 1;
            assert!(polls < 100, "the question never came");
        }
        scene.until("the answer came", &mut Taken::default(), |_, taken| taken.0 == 1);
    }
}

#[test]
fn a_protocol_above_that_a_packet_gives_nothing_to_send_has_one_chance_in_that_step() {
    for is_silent in [false, true] {
        let mut scene = Scene::new(&Setup::packets(2));
        scene.echo.0.lock().unwrap().is_silent = is_silent;
        scene.send(&header(Protocol::Message));
        let chances = |scene: &Scene| scene.echo.0.lock().unwrap().chances;
        let (mut before, mut polls) = (chances(&scene), 0);
        scene.engine.poll();
        while scene.echo.0.lock().unwrap().received == 0 {
            before = chances(&scene);
            scene.engine.poll();
            polls += 1;
            assert!(polls < 100, "the packet never came");
        }
        let expected = if is_silent { 1 } else { 2 };
        assert_eq!(chances(&scene) - before, expected, "is_silent: {is_silent}");
    }
}

#[test]
fn an_answer_that_found_no_room_leaves_when_there_is_some() {
    let mut setup = Setup::packets(2);
    setup.sim.lane_packets = 1;
    let mut scene = Scene::new(&setup);
    for _ in 0..2 {
        scene.send(&header(Protocol::Message));
        (0..10).for_each(|_| _ = scene.engine.poll());
        assert_eq!(scene.answered(), 1);
    }
    assert_eq!(scene.owed(), 1, "the lane holds the first answer");
    scene.until("both answers came", &mut Taken::default(), |_, taken| taken.0 == 2);
    assert_eq!(scene.owed(), 0);
}

#[test]
fn a_store_to_a_window_that_its_sender_has_no_part_in_is_refused() {
    let scene = Scene::new(&Setup::packets(2));
    let window = scene.window.id();
    let kind = RequestKind::Put(TargetPlace::run(Disp(1), 0));
    let request = Request { window, flags: RequestFlags::ACK, sequence: Sequence(1), kind };
    let why = scene.refusal(&request, &[1; 8]);
    assert!(why.contains("outside the window's group"), "{why}");

    let scene = Scene::new(&Setup::packets(2));
    let unknown = WindowId { index: window.index + 1, ..window };
    let why = scene.refusal(&Request { window: unknown, ..request.clone() }, &[1; 8]);
    assert!(why.contains("a window that does not exist"), "{why}");

    let scene = Scene::new(&Setup::packets(2));
    let old = WindowId { generation: window.generation.wrapping_add(1), ..window };
    let why = scene.refusal(&Request { window: old, ..request }, &[1; 8]);
    assert!(why.contains("a window that does not exist"), "{why}");
}
