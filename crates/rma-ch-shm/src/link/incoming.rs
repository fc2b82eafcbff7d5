//! One lane from one peer: records become packets, bulk heads and bodies.
//!
//! Invariants: a packet is copied out of shared memory before it is looked at, so that what was checked is what is
//! used; a body goes from the ring to its place without a stop; what does not fit the order head, body, body, … ends the
//! connection. A poll never takes more than its allowance.

use crate::layout::BODY_LEN;
use crate::ring::{Consumer, Corrupt, Header, Kind};
use rma_core::channel::{Budget, Delivery, Lane, Placement, Polled, Sink};
use rma_core::datatype::Scatter;
use rma_core::ids::Peer;

/// The receiving half of a lane.
#[derive(Debug)]
pub(crate) struct Incoming {
    ring: Consumer,
    /// Where the rest of the body under way goes.
    body: Option<Scatter>,
}

/// What one poll may still do, and what it has done.
#[derive(Debug)]
pub(crate) struct Allowance {
    budget: Budget,
    bytes: usize,
    /// What the poll will answer.
    pub(crate) polled: Polled,
}

impl Allowance {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, bytes: 0, polled: Polled::default() }
    }

    /// Whether the poll may take packets at all.
    pub(crate) fn takes(&self) -> bool {
        self.budget.packets > 0
    }

    fn is_open(&self) -> bool {
        self.polled.packets < self.budget.packets && (self.bytes == 0 || self.bytes < self.budget.bytes)
    }
}

impl Incoming {
    pub(crate) fn new(ring: Consumer) -> Self {
        Self { ring, body: None }
    }

    /// Whether a record waits.
    pub(crate) fn has_record(&self) -> bool {
        self.ring.has_record()
    }

    /// Hands over what waits, as far as the allowance goes. `scratch` is as long as the longest packet. Says whether the
    /// peer must be woken for the room that came of it.
    pub(crate) fn receive(
        &mut self,
        from: Peer,
        lane: Lane,
        sink: &mut dyn Sink,
        scratch: &mut [u8],
        allowance: &mut Allowance,
    ) -> Result<bool, Corrupt> {
        let mut moved = false;
        while let Some(header) = self.ring.next()? {
            if !allowance.is_open() {
                allowance.polled.more = true;
                break;
            }
            allowance.bytes += header.len;
            moved = true;
            // The body stays where it is for a packet: it is long to move.
            match (header.kind, self.body.is_some()) {
                (Kind::Packet, false) => {
                    allowance.polled.packets += 1;
                    self.packet(header, from, lane, sink, scratch)?;
                }
                (Kind::BulkHead, false) => {
                    allowance.polled.packets += 1;
                    self.bulk_head(header, from, lane, sink, scratch)?;
                }
                (Kind::Body, _) => {
                    let place = self.body.take().ok_or(Corrupt("a piece of a body without a head"))?;
                    self.piece(header, place, from, lane, sink)?;
                }
                (Kind::Packet | Kind::BulkHead, true) => {
                    return Err(Corrupt("a packet in the middle of a body"));
                }
            }
        }
        allowance.polled.moved |= moved;
        Ok(moved && self.ring.must_ring())
    }

    /// The ring, to ask to be woken by its next record.
    pub(crate) fn ring(&mut self) -> &mut Consumer {
        &mut self.ring
    }

    /// Takes back that it was asked to be woken.
    pub(crate) fn disarm(&mut self) {
        self.ring.disarm();
    }

    /// Whether nothing ever came.
    pub(crate) fn is_unused(&self) -> bool {
        self.ring.is_unused() && !self.ring.has_record()
    }

    fn packet(
        &mut self,
        header: Header,
        from: Peer,
        lane: Lane,
        sink: &mut dyn Sink,
        scratch: &mut [u8],
    ) -> Result<(), Corrupt> {
        let bytes = scratch.get_mut(..header.len).ok_or(Corrupt("a packet longer than the limit"))?;
        self.ring.take(0, bytes);
        self.ring.release(header);
        match sink.packet(from, lane, bytes) {
            Delivery::Accepted => Ok(()),
            Delivery::Refused(reason) => Err(Corrupt(reason)),
        }
    }

    fn bulk_head(
        &mut self,
        header: Header,
        from: Peer,
        lane: Lane,
        sink: &mut dyn Sink,
        scratch: &mut [u8],
    ) -> Result<(), Corrupt> {
        let head_len = header.len.checked_sub(BODY_LEN).filter(|len| *len > 0);
        let head = head_len
            .and_then(|len| scratch.get_mut(..len))
            .ok_or(Corrupt("a bulk head of a wrong length"))?;
        let mut body_len = [0; BODY_LEN];
        self.ring.take(0, &mut body_len);
        self.ring.take(BODY_LEN, head);
        self.ring.release(header);
        let body_len = u64::from_le_bytes(body_len);
        if body_len == 0 || i64::try_from(body_len).is_err() {
            return Err(Corrupt("a bulk packet with a body of an impossible length"));
        }
        match sink.bulk(from, lane, head, body_len) {
            Placement::Into(place) => {
                assert_eq!(place.remaining(), body_len, "a place for a body is as long as the body");
                self.body = Some(place);
                Ok(())
            }
            Placement::Refused(reason) => Err(Corrupt(reason)),
        }
    }

    fn piece(
        &mut self,
        header: Header,
        mut place: Scatter,
        from: Peer,
        lane: Lane,
        sink: &mut dyn Sink,
    ) -> Result<(), Corrupt> {
        if header.len as u64 > place.remaining() {
            return Err(Corrupt("more body than was announced"));
        }
        self.ring.take_to(header.len, &mut place);
        self.ring.release(header);
        if place.remaining() == 0 {
            sink.bulk_received(from, lane);
        } else {
            self.body = Some(place);
        }
        Ok(())
    }
}
