//! One lane to one peer: reservations, a bulk body on its way, and what the sender is owed for them.
//!
//! Invariants: while a body is under way the lane answers "full", so packets leave in commit order without a queue; and
//! until its end has been reported no other body is taken, so what is owed (the end of a body, a notice of room) is one
//! each, kept until a poll can hand it over.

use crate::layout::{self, BODY_LEN, PIECES, RECORD_HEADER};
use crate::ring::{Corrupt, Header, Kind, Producer};
use rma_core::channel::{BulkToken, Lane, Room, Sink, Source};
use rma_core::datatype::Gather;
use rma_core::ids::Peer;

/// The sending half of a lane.
#[derive(Debug)]
pub(crate) struct Outgoing {
    ring: Producer,
    body: Option<Body>,
    /// A body that has left, not yet reported.
    sent: Option<BulkToken>,
    /// Length of the last payload that was answered "full", until the notice of room for it.
    wanted: Option<usize>,
}

#[derive(Debug)]
struct Body {
    memory: Gather,
    token: BulkToken,
}

impl Outgoing {
    pub(crate) fn new(ring: Producer) -> Self {
        Self { ring, body: None, sent: None, wanted: None }
    }

    /// Makes room for a packet of `len` bytes. `is_awaited` says that a sleeper must hear of room.
    pub(crate) fn reserve(&mut self, len: usize, is_awaited: bool) -> Result<Room, Corrupt> {
        let is_free = self.body.is_none();
        self.ask(is_free, len, is_awaited)
    }

    /// Puts bytes into the reserved packet, behind the `at` that it has.
    pub(crate) fn fill(&mut self, at: usize, source: Source<'_>) {
        let len = source.len();
        match source {
            Source::Bytes(bytes) => self.ring.put(at, bytes),
            Source::Memory(gather) => self.ring.put_from(at, len, gather),
        }
    }

    /// Sends the reserved packet. Says whether the peer must be woken.
    pub(crate) fn commit(&mut self, len: usize) -> bool {
        self.ring.publish(Header { kind: Kind::Packet, len });
        self.ring.must_ring()
    }

    /// Forgets the reserved packet, of which `filled` bytes were put.
    pub(crate) fn abandon(&mut self, filled: usize) {
        self.ring.abandon(filled);
    }

    /// Sends the head of a bulk packet and as much of its body as fits.
    pub(crate) fn send_bulk(
        &mut self,
        head: &[u8],
        memory: Gather,
        token: BulkToken,
        is_awaited: bool,
    ) -> Result<Room, Corrupt> {
        let len = BODY_LEN + head.len();
        let is_free = self.is_drained();
        if self.ask(is_free, len, is_awaited)? == Room::Full {
            return Ok(Room::Full);
        }
        self.ring.put(0, &memory.remaining().to_le_bytes());
        self.ring.put(BODY_LEN, head);
        self.ring.publish(Header { kind: Kind::BulkHead, len });
        self.body = Some(Body { memory, token });
        // The packet is accepted: what goes wrong from here on is found again, and handled, by the next poll.
        let _ = self.pump();
        if is_awaited && self.body.is_some() {
            self.ring.arm();
            let _ = self.pump();
        }
        Ok(Room::Granted)
    }

    /// Moves the body on, as far as there is room and at most by a ring's worth. Says whether any of it moved.
    pub(crate) fn pump(&mut self) -> Result<bool, Corrupt> {
        let longest = self.piece();
        for piece in 0..PIECES {
            let Some(body) = &mut self.body else { return Ok(piece > 0) };
            let len = usize::try_from(body.memory.remaining()).unwrap_or(usize::MAX).min(longest);
            if !self.ring.has_room(len)? {
                return Ok(piece > 0);
            }
            self.ring.put_from(0, len, &mut body.memory);
            self.ring.publish(Header { kind: Kind::Body, len });
            if body.memory.remaining() == 0 {
                self.sent = Some(body.token);
                self.body = None;
            }
        }
        Ok(true)
    }

    /// Whether the peer sleeps and must be woken for what was sent.
    pub(crate) fn must_ring(&self) -> bool {
        self.ring.must_ring()
    }

    /// Whether a poll has to look at this lane.
    pub(crate) fn is_busy(&self) -> bool {
        self.body.is_some() || self.sent.is_some() || self.wanted.is_some()
    }

    /// Whether everything accepted has left and has been reported.
    pub(crate) fn is_drained(&self) -> bool {
        self.body.is_none() && self.sent.is_none()
    }

    /// Whether a poll would move or report anything.
    pub(crate) fn can_move(&mut self) -> Result<bool, Corrupt> {
        if self.sent.is_some() {
            return Ok(true);
        }
        if let Some(body) = &self.body {
            let rest = usize::try_from(body.memory.remaining()).unwrap_or(usize::MAX);
            return self.ring.has_room(rest.min(self.piece()));
        }
        match self.wanted {
            Some(len) => self.ring.has_room(len),
            None => Ok(false),
        }
    }

    /// Reports what is owed: the end of a body, then room. Says whether there was anything.
    pub(crate) fn report(&mut self, peer: Peer, lane: Lane, sink: &mut dyn Sink) -> Result<bool, Corrupt> {
        let sent = self.sent.take();
        if let Some(token) = sent {
            sink.bulk_sent(token);
        }
        let Some(len) = self.wanted.filter(|_| self.body.is_none()) else { return Ok(sent.is_some()) };
        if !self.ring.has_room(len)? {
            return Ok(sent.is_some());
        }
        self.wanted = None;
        sink.writable(peer, lane);
        Ok(true)
    }

    /// Gives up the lane: the channel is done with the memory of bodies.
    pub(crate) fn give_up(&mut self, sink: &mut dyn Sink) {
        let sent = self.sent.take();
        let under_way = self.body.take().map(|body| body.token);
        for token in sent.into_iter().chain(under_way) {
            sink.bulk_sent(token);
        }
    }

    /// Forgets the waiters for room; says whether there were any.
    pub(crate) fn take_wanted(&mut self) -> bool {
        self.wanted.take().is_some()
    }

    /// Asks to be woken when there is room for what waits.
    pub(crate) fn arm(&self) {
        if self.body.is_some() || self.wanted.is_some() {
            self.ring.arm();
        }
    }

    /// Takes the request of [`Outgoing::arm`] back.
    pub(crate) fn disarm(&self) {
        if self.body.is_some() || self.wanted.is_some() {
            self.ring.disarm();
        }
    }

    /// Whether the lane is free for a payload of `len` bytes and has the room; if not, a notice of room is owed.
    fn ask(&mut self, is_free: bool, len: usize, is_awaited: bool) -> Result<Room, Corrupt> {
        assert!(len > 0, "an empty packet");
        if is_free {
            if self.ring.has_room(len)? {
                return Ok(Room::Granted);
            }
            if is_awaited {
                self.ring.arm();
                if self.ring.has_room(len)? {
                    return Ok(Room::Granted);
                }
            }
        }
        self.wanted = Some(len);
        Ok(Room::Full)
    }

    fn piece(&self) -> usize {
        layout::piece(self.ring.longest() + RECORD_HEADER) - RECORD_HEADER
    }
}
