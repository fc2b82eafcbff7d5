//! The line to transports: what a channel must do, numbered, and what it may rely on.
//!
//! A channel moves packets between this process and its peers. It knows no window, lock or datatype, only packets: small
//! ones, built in place (reserve, fill, commit), and bulk ones, a small head and a body that stays in the sender's memory
//! and lands in memory that the receiver names when it has seen the head. The engine drives a channel by
//! [`Channel::poll`] under the engine's lock; a channel has no thread of its own and nothing it calls can call it back.
//!
//! # The contract
//!
//! Each clause has tests of its number in `conformance` (feature `conformance`), which every channel runs.
//!
//! * **C1** Packets of one (sender, receiver, lane) arrive exactly once, in commit order, small and bulk alike, with the
//!   bytes they were committed with. [`Sink::bulk_received`] comes after the whole body is in place and before the next
//!   packet of that lane.
//! * **C2** Nothing leaves before commit; a reservation that is not committed (another `reserve`, `send_bulk` or `poll`
//!   came first) sends nothing.
//! * **C3** [`Room::Full`] is the only back-pressure, answered before a byte is built. After it, one [`Sink::writable`]
//!   for that peer and lane follows from a later `poll`, as soon as a reservation of the same length (the one last
//!   refused) would succeed. Several refusals before the notice are answered by one.
//! * **C4** A small packet's bytes belong to the channel after commit: the caller may reuse what it filled from. A bulk
//!   head is copied likewise; a bulk body's memory is only read by the channel, and not after [`Sink::bulk_sent`] for it,
//!   or after [`Sink::failed`] for that peer. Every accepted bulk is answered by exactly one `bulk_sent`, also when its
//!   peer fails (then before `failed`); a bulk refused by [`Room::Full`] or an error is not read at all. The memory of a
//!   [`Placement`] is not touched after `bulk_received` or `failed`. Dropping the channel ends all access, also that of
//!   peers that work for it, before the drop returns.
//! * **C5** `poll` never blocks, and hands over at most the budget's number of packets. A bulk counts once, with its
//!   head; a refused packet counts.
//! * **C6** After [`Channel::arm`] has answered [`Armed::Sleep`], anything a `poll` would act on (an arrival, room after
//!   full, a failure, a peer that connects) wakes whoever waits on the registered sources. No wake-up is lost. An idle
//!   channel answers `Sleep` soon, and then wakes nobody.
//! * **C7** Errors are per peer and final, and [`Sink::failed`] comes once, after the last packet of that peer; from then
//!   on every call for that peer is an error. Peers that said goodbye (closed in order) are not failed. Other peers are
//!   not affected. A peer that is failed here sees this process fail in turn. A channel that is dropped without
//!   [`Channel::close`] looks like a death.
//! * **C8** Memory in use is bounded by the configuration and the number of contacted peers, and shown by
//!   [`Channel::usage`]. A peer never contacted costs nothing.
//!
//! # Two lanes
//!
//! Requests and responses travel in lanes that do not block each other: a full request lane never keeps a response from
//! being reserved, and while a bulk body is under way in one lane the other still moves. Between lanes there is no order.

#[cfg(feature = "conformance")]
pub mod conformance;
mod router;
mod tracer;

use crate::datatype::{Gather, Scatter};
use crate::ids::Peer;
use crate::progress::Registrar;
use std::{fmt, io};

pub use router::{Route, Router};
pub use tracer::{TRACED_BYTES, TraceEvent, TraceLog, Tracer};

/// One of the two independent packet streams between a pair of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Packets that ask the receiver to do something; they may have to wait for room.
    Request = 0,
    /// Packets that answer a request; always drained by the receiver, and never the cause of a further packet.
    Response = 1,
}

impl Lane {
    /// Both lanes.
    pub const ALL: [Self; 2] = [Self::Request, Self::Response];
}

/// What a channel can do, as plain data; decided upon by the engine in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Name for messages and traces: a short lower-case word.
    pub name: &'static str,
    /// Longest small packet in bytes; at least [`MIN_PACKET`]. Also the longest head of a bulk packet.
    pub max_packet: usize,
    /// Bodies from this size on are better sent as bulk; at most `max_packet`.
    pub bulk_from: usize,
}

/// Every channel carries small packets of at least this many bytes: the engine's longest head and a few elements.
pub const MIN_PACKET: usize = 192;

/// Answer to a request for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Room {
    /// Accepted: fill and commit, or (bulk) the body is under way.
    Granted,
    /// No room now; see clause C3.
    Full,
}

/// Bytes for [`Channel::fill`].
#[derive(Debug)]
pub enum Source<'a> {
    /// Private bytes.
    Bytes(&'a [u8]),
    /// All that remains of a gather, advanced to its end.
    Memory(&'a mut Gather),
}

impl Source<'_> {
    /// Number of bytes that the source will append.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Memory(gather) => gather.remaining() as usize,
        }
    }

    /// Whether there is nothing to append.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The sender's name for a bulk body under way, given back by [`Sink::bulk_sent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BulkToken(pub u64);

/// Limit for one call of [`Channel::poll`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Most packets to hand over.
    pub packets: u32,
    /// Bytes after which no further packet is begun; one packet may exceed it.
    pub bytes: usize,
}

/// What a poll did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Polled {
    /// Packets handed over.
    pub packets: u32,
    /// Anything else that moved: bytes written, a connection made, room reported, a body part received.
    pub moved: bool,
    /// The budget ran out and more is waiting.
    pub more: bool,
}

impl Polled {
    /// Whether anything happened at all.
    pub fn is_idle(self) -> bool {
        self.packets == 0 && !self.moved && !self.more
    }
}

/// Answer of [`Channel::arm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Armed {
    /// Work is pending: poll instead of sleeping.
    Busy,
    /// Nothing is pending, and the next arrival will wake the sleeper.
    Sleep,
}

/// Answer to a small packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Delivery {
    /// Understood.
    Accepted,
    /// Not a packet this job sends: the channel fails that peer with [`FailureKind::Protocol`] and this reason.
    Refused(&'static str),
}

/// Answer to the head of a bulk packet: where its body goes.
#[derive(Debug)]
#[must_use]
pub enum Placement {
    /// Store the body here; its length is the body's. Use [`Scatter::discard`] to drop it.
    Into(Scatter),
    /// Not a packet this job sends: the channel fails that peer with [`FailureKind::Protocol`] and this reason.
    Refused(&'static str),
}

/// Where [`Channel::poll`] hands over what happened. It has no way to the channel: handlers only take notes.
pub trait Sink {
    /// A small packet arrived. `bytes` is a private copy (no other process can change it) and may have any alignment.
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery;

    /// The head of a bulk packet arrived, whose body has `body_len` bytes.
    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement;

    /// The body of the last bulk packet of this lane is in place.
    fn bulk_received(&mut self, from: Peer, lane: Lane);

    /// The channel is done with the body's memory.
    fn bulk_sent(&mut self, token: BulkToken);

    /// There is room again after [`Room::Full`].
    fn writable(&mut self, peer: Peer, lane: Lane);

    /// The peer is lost; nothing more comes from it or goes to it.
    fn failed(&mut self, peer: Peer, failure: Failure);
}

/// Why a peer cannot be reached any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind, for decisions.
    pub kind: FailureKind,
    /// One lower-case sentence, for people.
    pub detail: String,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The peer's process is gone: an end of stream without goodbye, or a reset.
    Dead,
    /// The peer sent bytes that no process of this job sends, or failed to authenticate.
    Protocol,
    /// The peer could not be reached, or this system refused a resource.
    Unreachable,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Failure {}

/// Memory in use by a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Peers with state.
    pub peers: usize,
    /// Bytes of buffers, queues and shared rings held for them.
    pub bytes: usize,
    /// The most that `bytes` can become with as many peers, by configuration.
    pub limit_bytes: usize,
}

/// State of [`Channel::close`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Closing {
    /// Goodbyes or committed packets are still leaving: poll, and call again.
    Pending,
    /// Everything committed has left, and every living peer has been told.
    Closed,
}

/// A packet transport to the other processes of a job. The module's page is the contract.
///
/// Every method is called under one lock and returns at once.
///
/// # Safety
/// The implementation keeps clause C4: the memory of bulk bodies and of placements is not accessed outside the times that
/// the clause allows. The engine hands such memory to callers as free on that promise.
pub unsafe trait Channel: Send {
    /// What this channel can do for every peer; constant over its life.
    fn capabilities(&self) -> Capabilities;

    /// What this channel can do for one peer: no less than [`Channel::capabilities`], and constant too.
    fn capabilities_for(&self, peer: Peer) -> Capabilities {
        let _ = peer;
        self.capabilities()
    }

    /// Joins the poller: hands the channel what it needs to wake a sleeper. Called once, before anything is sent.
    ///
    /// # Errors
    /// When the system refuses the registration.
    fn register(&mut self, registrar: &Registrar) -> io::Result<()>;

    /// Starts a connection to `peer`, if there is none. Sending does that too; this only does it earlier.
    ///
    /// # Errors
    /// When the peer has failed, or cannot be named.
    fn connect(&mut self, peer: Peer) -> Result<(), Failure>;

    /// Asks for room for a small packet of exactly `len` bytes. After [`Room::Granted`] the caller fills and commits.
    ///
    /// # Errors
    /// When the peer has failed.
    ///
    /// # Panics
    /// May panic when `len` is 0 or over [`Capabilities::max_packet`] for that peer.
    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure>;

    /// Appends bytes to the reserved packet.
    ///
    /// # Panics
    /// When nothing is reserved, or with more bytes than were reserved.
    fn fill(&mut self, source: Source<'_>);

    /// Sends the reserved packet.
    ///
    /// # Panics
    /// When nothing is reserved, or it has not been filled to its length.
    fn commit(&mut self);

    /// Sends a packet of a head and a body that is taken from where it lies; see clause C4.
    ///
    /// # Errors
    /// When the peer has failed.
    ///
    /// # Panics
    /// May panic when the head is empty or over [`Capabilities::max_packet`] for that peer, or the body is empty.
    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure>;

    /// Moves bytes both ways and hands over what arrived.
    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled;

    /// Prepares to sleep; see clause C6.
    fn arm(&mut self) -> Armed;

    /// Says goodbye to all peers once everything committed has left. Call until it answers [`Closing::Closed`]; between
    /// calls, poll. No packet is reserved after the first call.
    fn close(&mut self) -> Closing;

    /// Memory in use.
    fn usage(&self) -> Usage;
}
