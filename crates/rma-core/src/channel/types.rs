//! The plain data of the line to transports, between channels and engine.

#[cfg(doc)]
use super::{Channel, Sink};
use crate::datatype::{Gather, Scatter};
use std::fmt;

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
    /// Everything committed has left, and every living peer has been notified.
    Closed,
}
