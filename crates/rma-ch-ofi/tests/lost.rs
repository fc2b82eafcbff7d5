//! A peer is given up while memory of this process waits for bytes of it: the connection is closed with it, so the memory is this
//! process's again at once, whatever that peer goes on to send, and contact to others stays.
//!
//! Skipped where there is no libfabric, or one that another library of the process has set up.

#![allow(missing_docs)]

use rma_ch_ofi::{OfiChannel, OfiConfig, OfiSettings, probe};
use rma_ch_tcp::{TcpChannel, TcpConfig, TcpSettings};
use rma_core::channel::{
    Budget, BulkToken, Capabilities, Channel, Closing, Delivery, Exposure, Failure, FailureKind, Issued,
    Lane, Placement, Polled, RemotePlace, Room, Sink, Source, TransferError, TransferToken, Usage,
    Withdrawal,
};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::poller::Registrar;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// More than a connection holds.
const LEN: usize = 48 << 20;
const BUDGET: Budget = Budget { packets: 64, bytes: 1 << 20 };
const LIMIT: Duration = Duration::from_secs(20);
/// A failure that takes longer has waited for the provider.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A lower channel that takes rank 1 for dead when it is told to: a cable was pulled.
struct Cut(Box<dyn Channel>, Arc<AtomicBool>);

// SAFETY: clause C4 is the other channel's.
unsafe impl Channel for Cut {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        self.0.register(registrar)
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.0.connect(peer)
    }

    fn give_up(&mut self, peer: Peer, cause: &str) {
        self.0.give_up(peer, cause);
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        self.0.reserve(peer, lane, len)
    }

    fn fill(&mut self, source: Source<'_>) {
        self.0.fill(source);
    }

    fn commit(&mut self) {
        self.0.commit();
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        self.0.send_bulk(peer, lane, head, body, token)
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        let polled = self.0.poll(sink, budget);
        if self.1.swap(false, Relaxed) {
            sink.failed(
                Peer(1),
                Failure { kind: FailureKind::Dead, detail: "a cable was pulled".to_owned() },
            );
        }
        polled
    }

    fn arm(&mut self) -> rma_core::channel::Armed {
        self.0.arm()
    }

    fn close(&mut self) -> Closing {
        self.0.close()
    }

    fn usage(&self) -> Usage {
        self.0.usage()
    }
}

/// What has come, in order.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Packet(Peer),
    Received,
    Transferred(Result<(), TransferError>),
    Failed(Peer),
}

#[derive(Default)]
struct Log {
    events: Vec<Event>,
    /// Where the body goes.
    room: Option<WriteSpan>,
}

impl Sink for Log {
    fn packet(&mut self, from: Peer, _: Lane, _: &[u8]) -> Delivery {
        self.events.push(Event::Packet(from));
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], _: u64) -> Placement {
        Placement::Into(Scatter::span(self.room.take().expect("one body is sent")))
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {
        self.events.push(Event::Received);
    }

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn transferred(&mut self, _: TransferToken, outcome: Result<(), TransferError>) {
        self.events.push(Event::Transferred(outcome));
    }

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, peer: Peer, _: Failure) {
        self.events.push(Event::Failed(peer));
    }
}

struct Job {
    ranks: Vec<(OfiChannel, Log)>,
    /// Has rank 0 take rank 1 for dead.
    cut: Arc<AtomicBool>,
}

impl Job {
    /// Three ranks that are all in contact with rank 0; `None` where there is no libfabric.
    fn new() -> Option<Self> {
        let config = OfiConfig::read(&|name| std::env::var(name).ok()).unwrap();
        // SAFETY: the environment of the tests names libfabric.
        if let Err(why) = unsafe { probe(&config) } {
            eprintln!("skipped: {why}");
            return None;
        }
        let (addresses, cut) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let listen = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let rank = |me| {
            let all: Arc<Mutex<Vec<String>>> = Arc::clone(&addresses);
            let settings = TcpSettings {
                me: Peer(me),
                size: 3,
                job: "ofi".to_owned(),
                secret: [7; 32],
                listen,
                config: TcpConfig::default(),
                directory: Box::new(move |peer: Peer| Ok(all.lock().unwrap()[peer.0 as usize].clone())),
            };
            let lower = TcpChannel::bind(settings).unwrap();
            addresses.lock().unwrap().push(lower.address());
            let is_cut = if me == 0 { Arc::clone(&cut) } else { Arc::default() };
            let lower = Box::new(Cut(Box::new(lower), is_cut));
            let config = config.clone();
            let settings = OfiSettings { me: Peer(me), size: 3, listen: Some(listen), config, lower };
            // SAFETY: as above.
            (unsafe { OfiChannel::open(settings) }.unwrap(), Log::default())
        };
        let mut job = Self { ranks: (0..3).map(rank).collect(), cut };
        job.ping(1, 0);
        job.ping(2, 0);
        Some(job)
    }

    fn poll(&mut self, rank: usize) {
        let (channel, log) = &mut self.ranks[rank];
        let _ = channel.poll(log, BUDGET);
    }

    /// Polls these ranks in turn until something holds.
    fn until(&mut self, what: &str, ranks: &[usize], mut holds: impl FnMut(&Self) -> bool) {
        let begin = Instant::now();
        while !holds(self) {
            assert!(begin.elapsed() < LIMIT, "{what}: {:?}", self.ranks[0].1.events);
            ranks.iter().for_each(|rank| self.poll(*rank));
        }
    }

    /// A packet arrives.
    fn ping(&mut self, from: usize, to: usize) {
        let peer = Peer(to as u32);
        let begin = Instant::now();
        while self.ranks[from].0.send(peer, Lane::Request, b"ping") != Ok(Room::Granted) {
            assert!(begin.elapsed() < LIMIT, "room");
            [from, to].into_iter().for_each(|rank| self.poll(rank));
        }
        let packet = Event::Packet(Peer(from as u32));
        self.until("a packet", &[from, to], |job| job.ranks[to].1.events.contains(&packet));
        self.ranks[to].1.events.clear();
    }

    /// Rank 0 gives rank 1 up, whose bytes are on their way to this memory.
    fn give_up(mut self, memory: WriteSpan, expected: &[Event]) {
        self.cut.store(true, Relaxed);
        let begin = Instant::now();
        self.until("the report", &[0], |job| job.ranks[0].1.events.contains(&Event::Failed(Peer(1))));
        assert!(begin.elapsed() < AT_ONCE, "after {:?}", begin.elapsed());
        assert_eq!(self.ranks[0].1.events, expected);
        let poison = vec![0xEE; LEN];
        // SAFETY: a vector that lives.
        memory.write_from(unsafe { ReadSpan::new(poison.as_ptr(), LEN) });
        // The other one goes on.
        for _ in 0..2000 {
            [1, 0].into_iter().for_each(|rank| self.poll(rank));
        }
        assert!(bytes(memory) == poison, "written after the report");
        self.ping(2, 0);
        self.ping(0, 2);
    }
}

fn span(memory: &mut [u8]) -> WriteSpan {
    // SAFETY: the tests' vectors outlive their jobs and are looked at through spans alone.
    unsafe { WriteSpan::new(memory.as_mut_ptr(), memory.len()) }
}

fn bytes(memory: WriteSpan) -> Vec<u8> {
    let mut bytes = vec![0; memory.len()];
    span(&mut bytes).write_from(memory.as_read());
    bytes
}

fn is_begun(memory: WriteSpan) -> bool {
    bytes(memory.part(0, 1)) != [0]
}

/// Memory of a rank, and the place of its first byte for another one; none where this provider carries no transfers.
fn expose(job: &mut Job, owner: usize, memory: WriteSpan, user: Peer) -> Option<(Exposure, RemotePlace)> {
    let Some(remote) = job.ranks[owner].0.remote_memory() else {
        eprintln!("skipped: this provider closes no single connection");
        return None;
    };
    // SAFETY: the memory outlives the job.
    let exposure = unsafe { remote.expose(memory) }.unwrap();
    Some((exposure, RemotePlace { key: remote.key(exposure, user).unwrap(), offset: 0 }))
}

#[test]
fn a_read_from_a_window_ends_with_its_peer() {
    let (mut theirs, mut own) = (vec![5; LEN], vec![0; LEN]);
    let (theirs, own) = (span(&mut theirs), span(&mut own));
    let Some(mut job) = Job::new() else { return };
    let Some((_, place)) = expose(&mut job, 1, theirs, Peer(0)) else { return };
    let remote = job.ranks[0].0.remote_memory().unwrap();
    assert_eq!(remote.read(Peer(1), own, place, TransferToken(3)), Ok(Issued::Yes));
    job.until("the first byte", &[0, 1], |_| is_begun(own));
    job.give_up(own, &[Event::Transferred(Err(TransferError::Lost)), Event::Failed(Peer(1))]);
}

#[test]
fn a_write_to_a_window_ends_with_its_peer() {
    let (mut theirs, mut own) = (vec![5; LEN], vec![0; LEN]);
    let (theirs, own) = (span(&mut theirs), span(&mut own));
    let Some(mut job) = Job::new() else { return };
    let Some((exposure, place)) = expose(&mut job, 0, own, Peer(1)) else { return };
    let remote = job.ranks[1].0.remote_memory().unwrap();
    assert_eq!(remote.write(Peer(0), theirs.as_read(), place, TransferToken(3)), Ok(Issued::Yes));
    job.until("the first byte", &[0, 1], |_| is_begun(own));
    let withdrawn = job.ranks[0].0.remote_memory().unwrap().withdraw(exposure, false);
    assert_eq!(withdrawn, Withdrawal::Pending, "the write is under way");
    job.give_up(own, &[Event::Failed(Peer(1))]);
}

#[test]
fn a_body_that_is_read_in_place_ends_with_its_peer() {
    let (mut theirs, mut own) = (vec![5; LEN], vec![0; LEN]);
    let (theirs, own) = (span(&mut theirs), span(&mut own));
    let Some(mut job) = Job::new() else { return };
    job.ranks[0].1.room = Some(own);
    let body = Gather::span(theirs.as_read());
    let sent = job.ranks[1].0.send_bulk(Peer(0), Lane::Request, b"head", body, BulkToken(1));
    assert_eq!(sent, Ok(Room::Granted));
    job.until("the first byte", &[0, 1], |_| is_begun(own));
    job.give_up(own, &[Event::Failed(Peer(1))]);
}

/// Rank 1 is silent from then on.
#[test]
fn a_peer_whose_machine_is_lost_is_failed_at_once_and_others_stay() {
    let Some(mut job) = Job::new() else { return };
    job.ranks[0].0.give_up(Peer(1), "as the test wishes");
    let begin = Instant::now();
    job.until("the report", &[0], |job| job.ranks[0].1.events.contains(&Event::Failed(Peer(1))));
    assert!(begin.elapsed() < AT_ONCE, "after {:?}", begin.elapsed());
    let refused = job.ranks[0].0.connect(Peer(1)).unwrap_err();
    assert!(refused.detail.contains("as the test wishes"), "{refused}");
    job.ping(2, 0);
    job.ping(0, 2);
}
