//! The receive path of one connection: bytes from the socket to the sink, bodies straight into their place.
//!
//! Small packets are read many at a time into a buffer and handed over from there. While a body is under way, the read
//! goes to the memory that the sink named, and only what lies behind the body's piece to the buffer. Invariants: the
//! buffer always has room for the rest of the longest frame; the memory of a placement is written only between the head
//! and the end of its body (clause C4); nothing is read while something that was read can still be handed over, so the
//! end of the stream is seen after the last packet (clause C7). Where the stream is sealed, everything goes by way of the opener's
//! buffer, and only what is proven leaves it.

use crate::config::Limits;
use crate::frame::{self, Decoder, Step};
use crate::seal::{Forged, Keys, Opener, RECORD};
use crate::sys::{BadMemory, ReceiveVec};
use rma_core::channel::{Budget, Delivery, FailureKind, Lane, Placement, Sink};
use rma_core::datatype::Scatter;
use rma_core::ids::Peer;
use std::io;
use std::os::fd::BorrowedFd;

/// Pieces of memory shorter than this are filled from the buffer: the system's price of an entry is higher.
const SHORT_PIECE: usize = 512;
/// Bytes read behind a piece of a body that goes on: the next header, and little of what belongs elsewhere.
const BEHIND_PIECE: usize = 4 * frame::HEADER;
/// A body from this length on is taken for one of several: behind its end little is read, since it is likely the next head with
/// the beginning of a body, which a read of its own puts where it belongs.
const LONG_BODY: u64 = 16 << 10;
/// Bytes read behind a long body: what a head and the headers around it need, and a short packet.
const BEHIND_LONG_BODY: usize = 256;

/// One call of `poll`: the sink, and what is left of its budget.
pub(crate) struct Turn<'a> {
    pub(crate) sink: &'a mut dyn Sink,
    budget: Budget,
    bytes: usize,
    /// System calls that have read, or tried to.
    pub(crate) reads: u64,
    /// Packets handed over.
    pub(crate) packets: u32,
    /// Whether anything else has moved.
    pub(crate) moved: bool,
}

/// Why reading ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// Everything that had arrived is handed over; readiness will be reported again.
    Drained,
    /// The budget is used up, and more may be there.
    Budget,
    /// The stream has ended behind a goodbye. The peer may still read.
    Ended,
    /// The peer has said goodbye and is gone.
    Left,
}

/// Why a connection is of no more use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) kind: FailureKind,
    /// The rest of a sentence about the peer.
    pub(crate) cause: String,
}

/// The receive side of a connection.
#[derive(Debug)]
pub(crate) struct Inbox {
    decoder: Decoder,
    /// Opens what arrives, if it is sealed.
    opener: Option<Box<Opener>>,
    buffer: Vec<u8>,
    /// The part of the buffer that has arrived and is not handed over: `start .. end`.
    start: usize,
    end: usize,
    /// Where the body under way in each lane goes.
    places: [Option<Scatter>; 2],
    /// Whether that body is a long one.
    are_long: [bool; 2],
}

impl Broken {
    /// Memory of this process, not the peer, is at fault. What the peer is owed of a packet cannot be had any more, nor left out.
    pub(crate) fn by(bad: &BadMemory) -> Self {
        let cause = format!(
            "is cut off by an error of this process: {bad}, and the connection stands in the midst of them"
        );
        Self { kind: FailureKind::Unreachable, cause }
    }
}

impl<'a> Turn<'a> {
    pub(crate) fn new(sink: &'a mut dyn Sink, budget: Budget) -> Self {
        Self { sink, budget, bytes: 0, reads: 0, packets: 0, moved: false }
    }

    /// Whether no further packet may be begun.
    pub(crate) fn is_over(&self) -> bool {
        self.packets >= self.budget.packets || (self.bytes > 0 && self.bytes >= self.budget.bytes)
    }

    /// A number that differs when anything was received.
    pub(crate) fn progress(&self) -> (u32, usize) {
        (self.packets, self.bytes)
    }

    fn began_packet(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes;
    }

    fn stored(&mut self, bytes: usize) {
        self.moved = true;
        self.bytes += bytes;
    }
}

impl Inbox {
    pub(crate) fn new(limits: &Limits, keys: Option<&Keys>) -> Self {
        Self {
            decoder: Decoder::new(limits.packet as u32),
            opener: keys.map(|keys| Box::new(Opener::new(&keys.receive))),
            buffer: vec![0; limits.receive],
            start: 0,
            end: 0,
            places: [None, None],
            are_long: [false; 2],
        }
    }

    /// Memory allocated; does not change.
    pub(crate) fn allocated(&self) -> usize {
        self.buffer.len() + if self.opener.is_some() { RECORD } else { 0 }
    }

    /// Whether the peer has closed in order.
    pub(crate) fn said_goodbye(&self) -> bool {
        self.decoder.said_goodbye()
    }

    /// Reads and hands over until everything is, or the budget is used up. `closed` says that the end of the stream is
    /// known to have arrived, so that it is read up to there.
    ///
    /// # Errors
    /// When the peer is gone or has sent what no process of the job sends; after its last packet.
    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        from: Peer,
        closed: bool,
        turn: &mut Turn<'_>,
    ) -> Result<Halt, Broken> {
        let mut drained = false;
        self.opener.iter_mut().for_each(|opener| opener.begin());
        loop {
            if !self.hand_over(from, turn)? {
                return Ok(Halt::Budget);
            }
            if drained {
                return Ok(Halt::Drained);
            }
            match self.read(socket, from, turn) {
                // The system gave less than there was room for, so there is no more; what comes now is reported.
                Ok(Read { len, full: false }) if len > 0 => drained = !closed,
                Ok(Read { len, .. }) if len > 0 => {}
                Ok(_) if self.said_goodbye() => return Ok(Halt::Ended),
                Ok(_) => {
                    return Err(Broken {
                        kind: FailureKind::Dead,
                        cause: "is gone: the connection ended without a goodbye".to_owned(),
                    });
                }
                Err(Unread::Forged(forged)) => {
                    return Err(Broken {
                        kind: FailureKind::Protocol,
                        cause: format!("cannot be told from a forgery: {forged}"),
                    });
                }
                Err(Unread::Failed(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Halt::Drained);
                }
                Err(_) if self.said_goodbye() => return Ok(Halt::Left),
                Err(Unread::Failed(error)) => {
                    return Err(BadMemory::of(&error).map_or_else(|| lost(&error), Broken::by));
                }
            }
        }
    }

    /// Hands over what is in the buffer, as far as it is complete; false when the budget ends first.
    fn hand_over(&mut self, from: Peer, turn: &mut Turn<'_>) -> Result<bool, Broken> {
        loop {
            if let Some(body) = self.decoder.body() {
                let len = (self.end - self.start).min(body.chunk_left as usize);
                if len == 0 {
                    // Reading the rest of a body begins no packet, but a turn has an end.
                    return Ok(!turn.is_over());
                }
                if let Some(place) = &mut self.places[body.lane as usize] {
                    place.write(&self.buffer[self.start..self.start + len]);
                }
                self.start += len;
                turn.stored(len);
                self.body_arrived(from, body.lane, len, turn);
                continue;
            }
            if turn.is_over() {
                return Ok(false);
            }
            let step = self
                .decoder
                .decode(&self.buffer[self.start..self.end])
                .map_err(|error| broke_the_protocol(&format!("it sent {error}")))?;
            match step {
                Step::Need(len) => {
                    debug_assert!(len <= self.buffer.len());
                    return Ok(true);
                }
                Step::Packet { lane, bytes, used } => {
                    turn.began_packet(bytes.len());
                    let delivery = turn.sink.packet(from, lane, bytes);
                    self.start += used;
                    if let Delivery::Refused(reason) = delivery {
                        return Err(refused(reason));
                    }
                }
                Step::Bulk { lane, head, body_len, used } => {
                    turn.began_packet(head.len());
                    let placement = turn.sink.bulk(from, lane, head, body_len);
                    self.start += used;
                    match placement {
                        Placement::Into(scatter) => {
                            assert_eq!(
                                scatter.remaining(),
                                body_len,
                                "a place of another length than the body"
                            );
                            self.places[lane as usize] = Some(scatter);
                            self.are_long[lane as usize] = body_len >= LONG_BODY;
                        }
                        Placement::Refused(reason) => return Err(refused(reason)),
                    }
                }
                Step::Chunk | Step::Goodbye => self.start += frame::HEADER,
            }
        }
    }

    /// Reads once, into the place of the body under way and into the buffer.
    fn read(&mut self, socket: BorrowedFd<'_>, from: Peer, turn: &mut Turn<'_>) -> Result<Read, Unread> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.opener.is_some() {
            return self.read_sealed(socket, from, turn);
        }
        turn.reads += 1;
        let room = &mut self.buffer[self.end..];
        let Some(body) = self.decoder.body() else {
            let mut vector = ReceiveVec::new();
            vector.push(room);
            let full = vector.len();
            let len = vector.receive(socket)?;
            self.end += len;
            return Ok(Read { len, full: len == full });
        };

        debug_assert_eq!(self.end, 0, "what was read of a body has been stored");
        let mut vector = ReceiveVec::new();
        if let Some(place) = &self.places[body.lane as usize] {
            add_place(&mut vector, place, body.chunk_left as usize);
        }
        let direct = vector.len();
        let goes_on = body.body_left > u64::from(body.chunk_left);
        // What is not read directly of this piece needs the room.
        let is_whole = direct == body.chunk_left as usize;
        let behind = match (is_whole, goes_on, self.are_long[body.lane as usize]) {
            (true, true, _) => BEHIND_PIECE,
            (true, false, true) => BEHIND_LONG_BODY,
            _ => room.len(),
        };
        let behind = behind.min(room.len());
        vector.push(&mut room[..behind]);
        let full = vector.len();
        let len = vector.receive(socket)?;
        let stored = len.min(direct);
        self.end = len - stored;
        if stored > 0 {
            if let Some(place) = &mut self.places[body.lane as usize] {
                place.advance(stored);
            }
            turn.stored(stored);
            self.body_arrived(from, body.lane, stored, turn);
        }
        Ok(Read { len, full: len == full })
    }

    /// [`Inbox::read`] where the stream is sealed: what was proven and had no room before, else what the system has.
    fn read_sealed(
        &mut self,
        socket: BorrowedFd<'_>,
        from: Peer,
        turn: &mut Turn<'_>,
    ) -> Result<Read, Unread> {
        let Some(opener) = &mut self.opener else { return Ok(Read { len: 0, full: false }) };
        let mut arrived = 0;
        if opener.opened()?.is_empty() {
            turn.reads += 1;
            arrived = opener.receive(socket)?;
        }
        let opened = opener.opened()?;
        if opened.is_empty() {
            // The end of the stream, or the beginning of a record.
            return Ok(Read { len: arrived, full: !opener.is_drained() });
        }
        let Some(body) = self.decoder.body() else {
            let room = &mut self.buffer[self.end..];
            let len = room.len().min(opened.len());
            room[..len].copy_from_slice(&opened[..len]);
            self.end += len;
            opener.took(len);
            return Ok(Read { len, full: opener.may_have_more() });
        };
        debug_assert_eq!(self.end, 0, "what was read of a body has been stored");
        let len = opened.len().min(body.chunk_left as usize);
        if let Some(place) = &mut self.places[body.lane as usize] {
            place.write(&opened[..len]);
        }
        opener.took(len);
        let full = opener.may_have_more();
        turn.stored(len);
        self.body_arrived(from, body.lane, len, turn);
        Ok(Read { len, full })
    }

    /// Counts stored bytes of a body, and reports its end.
    fn body_arrived(&mut self, from: Peer, lane: Lane, len: usize, turn: &mut Turn<'_>) {
        // At most what was left of the chunk, which is such a number.
        if self.decoder.body_arrived(len as u32) {
            self.places[lane as usize] = None;
            turn.sink.bulk_received(from, lane);
        }
    }
}

/// Result of one read: bytes, and whether all the room was used.
struct Read {
    len: usize,
    full: bool,
}

/// Why nothing was read.
enum Unread {
    Failed(io::Error),
    Forged(Forged),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Forged> for Unread {
    fn from(forged: Forged) -> Self {
        Self::Forged(forged)
    }
}

/// Adds the next `len` bytes of a place, as far as they lie in long pieces.
fn add_place(vector: &mut ReceiveVec<'_>, place: &Scatter, len: usize) {
    let Some(first) = place.peek(len) else { return };
    if first.len() == len {
        return vector.push_span(first);
    }
    let mut place = place.clone();
    let mut left = len;
    while left > 0 && !vector.is_nearly_full() {
        let Some(span) = place.peek(left) else { return };
        if span.len() < SHORT_PIECE && span.len() < left {
            return;
        }
        vector.push_span(span);
        place.advance(span.len());
        left -= span.len();
    }
}

fn lost(error: &io::Error) -> Broken {
    Broken { kind: FailureKind::Dead, cause: format!("is gone: the connection is lost: {error}") }
}

fn refused(reason: &'static str) -> Broken {
    broke_the_protocol(&format!("it sent a packet that was refused: {reason}"))
}

fn broke_the_protocol(how: &str) -> Broken {
    Broken { kind: FailureKind::Protocol, cause: format!("broke the protocol: {how}") }
}

#[cfg(test)]
mod tests;
