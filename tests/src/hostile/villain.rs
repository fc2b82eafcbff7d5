//! A villain: the channel of a rank that was there when the window was made, in the hands of the test.

use super::forge::Packet;
use rma_ch_sim::SimChannel;
use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Delivery, Failure, Lane, Placement, Polled,
    Room, Sink, Source, Usage,
};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use rma_core::mem::ReadSpan;
use rma_core::poller::Registrar;
use rma_core::wire::Request;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Requests that a villain remembers to answer them in its own way.
const REMEMBERED: usize = 32;

/// A rank that sends what it likes.
#[derive(Debug)]
pub struct Villain {
    /// Its number.
    pub peer: Peer,
    channel: Lent,
    seen: Seen,
    /// Bodies are read from here, long after the packet was sent.
    body: Arc<[u8]>,
    next_token: u64,
}

/// What became of an attempt to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It is under way.
    Sent,
    /// The lane is full.
    Full,
    /// The victim has closed the connection.
    Closed,
}

/// A channel that an engine uses while the window is made, and the test afterwards.
#[derive(Clone, Debug)]
pub(super) struct Lent(Arc<Mutex<SimChannel>>);

/// What a villain has learned.
#[derive(Debug, Default)]
pub(super) struct Seen {
    requests: Vec<Request>,
    lost: Vec<Peer>,
}

impl Villain {
    /// The villain behind a channel; bodies of its packets are prefixes of `body`.
    pub(super) fn new(peer: Peer, channel: Lent, body: Arc<[u8]>) -> Self {
        Self { peer, channel, seen: Seen::default(), body, next_token: 0 }
    }

    /// Requests of the honest that have come.
    pub fn requests(&self) -> &[Request] {
        &self.seen.requests
    }

    /// Sends a packet to an honest rank.
    pub fn send(&mut self, to: Peer, packet: &Packet) -> Attempt {
        let mut channel = self.channel.lock();
        let max = channel.capabilities().max_packet;
        let head = &packet.bytes[..packet.bytes.len().min(max)];
        if head.is_empty() || self.seen.lost.contains(&to) {
            return Attempt::Closed;
        }
        let room = if packet.body_len > 0 {
            let len = packet.body_len.min(self.body.len());
            // SAFETY: the bytes are never changed, and the channel lets go of them when it is dropped, which is before
            // this villain lets go of them (clause C4).
            let span = unsafe { ReadSpan::new(self.body.as_ptr(), len) };
            self.next_token += 1;
            channel.send_bulk(to, packet.lane, head, Gather::span(span), BulkToken(self.next_token))
        } else {
            channel.reserve(to, packet.lane, head.len())
        };
        match room {
            Err(_) => Attempt::Closed,
            Ok(Room::Full) => Attempt::Full,
            Ok(Room::Granted) if packet.body_len > 0 => Attempt::Sent,
            Ok(Room::Granted) => {
                channel.fill(Source::Bytes(head));
                channel.commit();
                Attempt::Sent
            }
        }
    }

    /// Reads what has come.
    pub fn poll(&mut self) {
        let budget = Budget { packets: 8, bytes: 1 << 20 };
        let _ = self.channel.lock().poll(&mut self.seen, budget);
    }

    /// Whether an honest rank has closed the connection, as far as the villain has read.
    pub fn is_closed_by(&self, peer: Peer) -> bool {
        self.seen.lost.contains(&peer)
    }
}

impl Lent {
    pub(super) fn new(channel: SimChannel) -> Self {
        Self(Arc::new(Mutex::new(channel)))
    }

    fn lock(&self) -> MutexGuard<'_, SimChannel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Seen {
    fn packet(&mut self, _: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        if lane == Lane::Request
            && self.requests.len() < REMEMBERED
            && let Ok((request, _)) = Request::parse(bytes)
        {
            self.requests.push(request);
        }
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], body_len: u64) -> Placement {
        Placement::Into(Scatter::discard(body_len))
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, peer: Peer, _: Failure) {
        self.lost.push(peer);
    }
}

// SAFETY: memory of bulk bodies and placements passes through to the wrapped channel untouched.
unsafe impl Channel for Lent {
    fn capabilities(&self) -> Capabilities {
        self.lock().capabilities()
    }

    fn register(&mut self, registrar: &Registrar) -> std::io::Result<()> {
        self.lock().register(registrar)
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.lock().connect(peer)
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        self.lock().reserve(peer, lane, len)
    }

    fn fill(&mut self, source: Source<'_>) {
        self.lock().fill(source);
    }

    fn commit(&mut self) {
        self.lock().commit();
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        self.lock().send_bulk(peer, lane, head, body, token)
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        self.lock().poll(sink, budget)
    }

    fn arm(&mut self) -> Armed {
        self.lock().arm()
    }

    fn close(&mut self) -> Closing {
        self.lock().close()
    }

    fn usage(&self) -> Usage {
        self.lock().usage()
    }
}
