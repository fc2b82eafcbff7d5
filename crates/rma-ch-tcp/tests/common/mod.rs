//! Jobs of TCP channels inside one test process.

#![allow(dead_code)] // each test file uses its part
#![allow(unreachable_pub)] // a module of every test crate

use rma_ch_tcp::{TcpChannel, TcpConfig, TcpSettings};
use rma_core::channel::{
    Budget, BulkToken, Channel, Delivery, Failure, Lane, Placement, Polled, Room, Sink, Source,
};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use rma_core::mem::{ReadSpan, WriteSpan};
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const SECRET: [u8; 32] = *b"the secret of all jobs of a test";

/// The addresses of a job's processes, as they become known.
pub type Book = Arc<Mutex<Vec<String>>>;

pub fn settings(me: u32, size: u32, config: TcpConfig, book: &Book) -> TcpSettings {
    let book = Arc::clone(book);
    TcpSettings {
        me: Peer(me),
        size,
        job: "test".to_owned(),
        secret: SECRET,
        listen: LOOPBACK,
        config,
        directory: Box::new(move |Peer(peer)| {
            let book = book.lock().map_err(|_| io::Error::other("a test has panicked"))?;
            book.get(peer as usize).cloned().ok_or_else(|| io::Error::other("not in the book"))
        }),
    }
}

/// The channels of a new job, none of them connected.
pub fn job(size: u32, config: &TcpConfig) -> Vec<TcpChannel> {
    let book = Book::default();
    (0..size)
        .map(|me| {
            let channel = TcpChannel::bind(settings(me, size, config.clone(), &book)).unwrap();
            book.lock().unwrap().push(channel.address());
            channel
        })
        .collect()
}

/// Every variable at its smallest.
pub fn smallest() -> TcpConfig {
    TcpConfig {
        packet_bytes: 192,
        bulk_bytes: 1,
        send_bytes: 1,
        bulks: 1,
        receive_bytes: 1,
        chunk_bytes: 1,
        socket_bytes: 1,
        direct_reads: 0,
        connect_timeout_s: 1,
        handshake_timeout_s: 1,
        unauthenticated: 1,
        authenticate: false,
        ack_timeout_s: 0,
        keepalive_s: 0,
    }
}

/// More than any test hands over in one poll.
pub const PLENTY: Budget = Budget { packets: 1000, bytes: 1 << 20 };

/// A test that takes longer has failed.
pub const LIMIT: Duration = Duration::from_secs(30);

/// What a channel handed over.
#[derive(Debug, Default)]
pub struct Log {
    pub packets: Vec<(Peer, Lane, Vec<u8>)>,
    /// Heads with the length of their bodies, which are dropped.
    pub heads: Vec<(Peer, Lane, Vec<u8>, u64)>,
    pub bodies: Vec<(Peer, Lane)>,
    pub sent: Vec<BulkToken>,
    pub writable: Vec<(Peer, Lane)>,
    pub failed: Vec<(Peer, Failure)>,
    /// Where a body goes that is so long, instead of nowhere.
    pub place: Option<WriteSpan>,
}

impl Sink for Log {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        self.packets.push((from, lane, bytes.to_vec()));
        Delivery::Accepted
    }

    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
        self.heads.push((from, lane, head.to_vec(), body_len));
        let place = self.place.filter(|span| span.len() as u64 == body_len);
        Placement::Into(place.map_or_else(|| Scatter::discard(body_len), Scatter::span))
    }

    fn bulk_received(&mut self, from: Peer, lane: Lane) {
        self.bodies.push((from, lane));
    }

    fn bulk_sent(&mut self, token: BulkToken) {
        self.sent.push(token);
    }

    fn writable(&mut self, peer: Peer, lane: Lane) {
        self.writable.push((peer, lane));
    }

    fn failed(&mut self, peer: Peer, failure: Failure) {
        self.failed.push((peer, failure));
    }
}

/// A channel with what it handed over.
#[derive(Debug)]
pub struct Rank {
    pub channel: TcpChannel,
    pub log: Log,
}

impl Rank {
    pub fn new(channel: TcpChannel) -> Self {
        Self { channel, log: Log::default() }
    }

    /// Sends a small packet, which has room.
    pub fn send(&mut self, to: u32, lane: Lane, bytes: &[u8]) {
        assert_eq!(self.channel.reserve(Peer(to), lane, bytes.len()), Ok(Room::Granted));
        self.channel.fill(Source::Bytes(bytes));
        self.channel.commit();
    }

    /// Sends a bulk from memory that is never freed.
    pub fn send_bulk(&mut self, to: u32, lane: Lane, body: &'static [u8], token: u64) {
        // SAFETY: the bytes live and stay as they are for ever.
        self.send_span(to, lane, unsafe { ReadSpan::new(body.as_ptr(), body.len()) }, token);
    }

    /// Sends a bulk, which has room.
    pub fn send_span(&mut self, to: u32, lane: Lane, span: ReadSpan, token: u64) {
        let room = self.channel.send_bulk(Peer(to), lane, b"head", Gather::span(span), BulkToken(token));
        assert_eq!(room, Ok(Room::Granted));
    }

    pub fn poll(&mut self) -> Polled {
        self.channel.poll(&mut self.log, PLENTY)
    }
}

/// Memory of which the second half cannot be accessed, for the system to find that out. It is never freed.
pub fn half(len: usize) -> (ReadSpan, WriteSpan) {
    let (private, none) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_NONE);
    // SAFETY: asks for memory where the system wants it.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), len, none, private, -1, 0) };
    // SAFETY: the half of what has just been mapped, which nothing uses yet; where it was not, this fails as well.
    let opened = unsafe { libc::mprotect(start, len / 2, libc::PROT_READ | libc::PROT_WRITE) };
    assert_eq!(opened, 0);
    // SAFETY: no code accesses the second half, only calls of the system get it, which answer an error.
    unsafe { (ReadSpan::new(start.cast(), len), WriteSpan::new(start.cast(), len)) }
}

/// The ranks of a new job.
pub fn ranks(size: u32, config: &TcpConfig) -> Vec<Rank> {
    job(size, config).into_iter().map(Rank::new).collect()
}

/// Polls all ranks until `done`.
pub fn drive(ranks: &mut [Rank], what: &str, mut done: impl FnMut(&mut [Rank]) -> bool) {
    let end = Instant::now() + LIMIT;
    while !done(ranks) {
        let mut idle = true;
        for rank in &mut *ranks {
            idle &= rank.poll().is_idle();
        }
        if idle {
            std::thread::yield_now();
        }
        assert!(Instant::now() < end, "still waiting for {what}: {ranks:?}");
    }
}

/// Whether the other side of a plain connection has closed it, after any bytes that it sent first.
pub fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let mut bytes = [0; 256];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}
