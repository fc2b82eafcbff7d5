//! A channel that reports every packet its rank commits, and on request those that it takes: to a log for
//! packet budgets in tests, or to another observer.
//!
//! It knows no packet format: a user that wants lines of text gives a function that makes them. A job that is
//! not traced has no tracer, so tracing costs nothing there.

use super::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Delivery, Failure, Lane, Placement, Polled,
    RemoteMemory, Room, Sink, Source, TransferError, TransferLimits, TransferToken, Usage,
};
use crate::datatype::Gather;
use crate::ids::Peer;
use crate::poller::Registrar;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::{fmt, mem};

/// Bytes of each packet that are kept.
pub const TRACED_BYTES: usize = 64;

/// One committed packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Number among all packets of the log, from 0.
    pub number: u64,
    /// Name of the channel that took it.
    pub channel: &'static str,
    /// The sender.
    pub from: Peer,
    /// The receiver.
    pub to: Peer,
    /// In which lane.
    pub lane: Lane,
    /// Length of the small packet, or of the bulk's head.
    pub len: usize,
    /// Length of the bulk's body; 0 for small packets.
    pub body_len: u64,
    /// Its first bytes, at most [`TRACED_BYTES`].
    pub head: SmallVec<[u8; TRACED_BYTES]>,
}

/// Where tracers write. Clones name the same log, and tracers of several ranks may share it. Small packets
/// are in it before they leave; a bulk is written down when it is accepted, so an answer from another thread
/// may come before it.
#[derive(Clone)]
pub struct TraceLog(Arc<Mutex<Log>>);

struct Log {
    keep: usize,
    next: u64,
    events: VecDeque<TraceEvent>,
    lines: Option<Lines>,
}

struct Lines {
    out: Box<dyn Write + Send>,
    format: Box<dyn Fn(&TraceEvent) -> String + Send>,
}

/// Where a tracer reports. Called under the engine's lock.
pub trait PacketLog: Send + fmt::Debug {
    /// The channel is asked to send a bulk, and may have sent it when it answers.
    fn tries(&mut self) {}

    /// A packet is committed, or the bulk of the last try is on its way; [`TraceEvent::number`] is 0.
    fn sent(&mut self, event: TraceEvent);

    /// Whether packets that arrive are to be reported.
    fn wants_received(&self) -> bool {
        false
    }

    /// A packet has arrived, whose first bytes are `head`; with a bulk, `len` counts its body too.
    fn received(&mut self, _from: Peer, _lane: Lane, _head: &[u8], _len: u64) {}
}

impl PacketLog for TraceLog {
    fn sent(&mut self, event: TraceEvent) {
        self.add(event);
    }
}

/// Wraps the channel of one rank.
pub struct Tracer {
    inner: Box<dyn Channel>,
    me: Peer,
    log: Box<dyn PacketLog>,
    reserved: Option<Draft>,
}

/// A packet that is being filled.
struct Draft {
    to: Peer,
    lane: Lane,
    len: usize,
    head: SmallVec<[u8; TRACED_BYTES]>,
}

impl TraceLog {
    /// A log of the last `keep` packets.
    pub fn new(keep: usize) -> Self {
        Self(Arc::new(Mutex::new(Log { keep, next: 0, events: VecDeque::new(), lines: None })))
    }

    /// From now on also writes a line for each packet, made by `format`, which must not use the log. Lines that cannot be
    /// written are dropped.
    pub fn lines_to(
        &self,
        out: impl Write + Send + 'static,
        format: impl Fn(&TraceEvent) -> String + Send + 'static,
    ) {
        self.0.lock().lines = Some(Lines { out: Box::new(out), format: Box::new(format) });
    }

    /// Number of packets committed so far, kept or not.
    pub fn total(&self) -> u64 {
        self.0.lock().next
    }

    /// Number of kept packets that match.
    pub fn count(&self, matches: impl Fn(&TraceEvent) -> bool) -> usize {
        self.0.lock().events.iter().filter(|e| matches(e)).count()
    }

    /// The kept packets in the order of their commits.
    pub fn events(&self) -> Vec<TraceEvent> {
        self.0.lock().events.iter().cloned().collect()
    }

    /// Takes the kept packets out: the next count starts from nothing.
    pub fn take(&self) -> Vec<TraceEvent> {
        mem::take(&mut self.0.lock().events).into()
    }

    fn add(&self, mut event: TraceEvent) {
        let mut log = self.0.lock();
        event.number = log.next;
        log.next += 1;
        if let Some(Lines { out, format }) = &mut log.lines {
            // A trace that cannot be written must not stop what it looks at.
            let _ = writeln!(out, "{}", format(&event));
        }
        if log.keep > 0 {
            if log.events.len() == log.keep {
                log.events.pop_front();
            }
            log.events.push_back(event);
        }
    }
}

impl Tracer {
    /// Reports every packet that rank `me` commits on `inner` to `log`.
    pub fn new(me: Peer, inner: Box<dyn Channel>, log: impl PacketLog + 'static) -> Self {
        Self { inner, me, log: Box::new(log), reserved: None }
    }

    fn add(&mut self, to: Peer, lane: Lane, len: usize, body_len: u64, head: SmallVec<[u8; TRACED_BYTES]>) {
        let channel = self.inner.capabilities_for(to).name;
        self.log.sent(TraceEvent { number: 0, channel, from: self.me, to, lane, len, body_len, head });
    }
}

// SAFETY: every clause about memory is kept by the wrapped channel, which gets gathers and gives back placements
// unchanged; the tracer reads a gather only while `fill` has it.
unsafe impl Channel for Tracer {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn capabilities_for(&self, peer: Peer) -> Capabilities {
        self.inner.capabilities_for(peer)
    }

    fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        self.inner.register(registrar)
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.inner.connect(peer)
    }

    fn give_up(&mut self, peer: Peer, cause: &str) {
        self.inner.give_up(peer, cause);
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        self.reserved = None;
        let room = self.inner.reserve(peer, lane, len)?;
        if room == Room::Granted {
            self.reserved = Some(Draft { to: peer, lane, len, head: SmallVec::new() });
        }
        Ok(room)
    }

    fn fill(&mut self, source: Source<'_>) {
        if let Some(draft) = &mut self.reserved {
            let old = draft.head.len();
            let new = (old + source.len()).min(TRACED_BYTES);
            draft.head.resize(new, 0);
            match &source {
                Source::Bytes(bytes) => draft.head[old..].copy_from_slice(&bytes[..new - old]),
                Source::Memory(gather) => Gather::clone(gather).read(&mut draft.head[old..]),
            }
        }
        self.inner.fill(source);
    }

    fn commit(&mut self) {
        // Before the commit, so that in a log of several ranks no answer stands before its question.
        if let Some(Draft { to, lane, len, head }) = self.reserved.take() {
            self.add(to, lane, len, 0, head);
        }
        self.inner.commit();
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        self.reserved = None;
        let body_len = body.remaining();
        self.log.tries();
        let room = self.inner.send_bulk(peer, lane, head, body, token)?;
        if room == Room::Granted {
            self.add(peer, lane, head.len(), body_len, head[..head.len().min(TRACED_BYTES)].into());
        }
        Ok(room)
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        self.reserved = None;
        if !self.log.wants_received() {
            return self.inner.poll(sink, budget);
        }
        self.inner.poll(&mut Reporter { sink, log: &mut *self.log }, budget)
    }

    fn is_quiet(&self) -> bool {
        self.inner.is_quiet()
    }

    fn keeps_packets(&self) -> bool {
        self.inner.keeps_packets()
    }

    fn arm(&mut self) -> Armed {
        self.inner.arm()
    }

    fn close(&mut self) -> Closing {
        self.inner.close()
    }

    fn transfers(&self, peer: Peer) -> Option<TransferLimits> {
        self.inner.transfers(peer)
    }

    // A transfer is no packet, and is not reported.
    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        self.inner.remote_memory()
    }

    fn usage(&self) -> Usage {
        self.inner.usage()
    }
}

/// Passes everything on, and reports what arrives.
struct Reporter<'a> {
    sink: &'a mut dyn Sink,
    log: &'a mut dyn PacketLog,
}

impl Sink for Reporter<'_> {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        self.log.received(from, lane, bytes, bytes.len() as u64);
        self.sink.packet(from, lane, bytes)
    }

    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
        self.log.received(from, lane, head, head.len() as u64 + body_len);
        self.sink.bulk(from, lane, head, body_len)
    }

    fn bulk_received(&mut self, from: Peer, lane: Lane) {
        self.sink.bulk_received(from, lane);
    }

    fn bulk_sent(&mut self, token: BulkToken) {
        self.sink.bulk_sent(token);
    }

    fn transferred(&mut self, token: TransferToken, outcome: Result<(), TransferError>) {
        self.sink.transferred(token, outcome);
    }

    fn writable(&mut self, peer: Peer, lane: Lane) {
        self.sink.writable(peer, lane);
    }

    fn failed(&mut self, peer: Peer, failure: Failure) {
        self.sink.failed(peer, failure);
    }
}

impl fmt::Display for TraceEvent {
    /// One line without the meaning of the bytes: `3 sim 0 → 1 request 24+4096`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lane = match self.lane {
            Lane::Request => "request",
            Lane::Response => "response",
        };
        let Self { number, channel, from, to, len, .. } = self;
        write!(f, "{number} {channel} {from} → {to} {lane} {len}")?;
        if self.body_len > 0 { write!(f, "+{}", self.body_len) } else { Ok(()) }
    }
}

impl fmt::Debug for TraceLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceLog").field("total", &self.total()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("me", &self.me).field("log", &self.log).finish_non_exhaustive()
    }
}
