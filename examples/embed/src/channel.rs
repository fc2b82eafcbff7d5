//! Mini's channel: the engine's packets as letters in Mini's boxes. Clauses of the contract stand where they are kept.

use crate::boxes::{Boxes, LANE_PACKETS, Notice, Packet};
use rma_core::channel::*;
use rma_core::datatype::Gather;
use rma_core::ids::Peer;
use rma_core::poller::Registrar;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MAX_PACKET: usize = 512;

/// The channel of one rank.
#[derive(Debug)]
pub struct MiniChannel {
    me: Peer,
    boxes: Arc<Mutex<Boxes>>,
    reserved: Option<(Peer, Lane, usize, Vec<u8>)>,
    has_closed: bool,
    turn: usize,
}

impl MiniChannel {
    /// The channel of rank `me`.
    pub fn new(me: Peer, boxes: Arc<Mutex<Boxes>>) -> Self {
        Self { me, boxes, reserved: None, has_closed: false, turn: 0 }
    }

    fn boxes(&self) -> MutexGuard<'_, Boxes> {
        self.boxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// C3: whether there is room, known before a byte is built. C2: ends a reservation.
    fn room(&mut self, peer: Peer, lane: Lane) -> Result<Room, Failure> {
        self.reserved = None;
        let (me, mut boxes) = (self.me, self.boxes());
        if boxes.rank(peer).is_dead && !boxes.rank(me).lost.contains_key(&peer) {
            boxes.lose(me, peer, FailureKind::Dead, "the rank has died");
        }
        if let Some(failure) = boxes.rank(me).lost.get(&peer) {
            return Err(failure.clone());
        }
        boxes.rank(me).met.insert(peer);
        boxes.rank(peer).met.insert(me);
        if boxes.lane(me, peer, lane as usize).len() < LANE_PACKETS {
            return Ok(Room::Granted);
        }
        boxes.rank(me).starved.insert((peer, lane as usize));
        Ok(Room::Full)
    }

    fn post(&mut self, to: Peer, lane: Lane, packet: Packet) {
        let mut boxes = self.boxes();
        boxes.lane(self.me, to, lane as usize).push_back(packet);
        boxes.wake(to);
    }

    /// Hands over a packet; C1: the body of a bulk is in place before the next one.
    fn deliver(&self, boxes: &mut Boxes, from: Peer, lane: Lane, packet: Packet, sink: &mut dyn Sink) {
        let refused = match packet {
            (bytes, None) => match sink.packet(from, lane, &bytes) {
                Delivery::Accepted => None,
                Delivery::Refused(reason) => Some(reason),
            },
            (head, Some((mut body, token))) => {
                boxes.rank(from).notices.push(Notice::Sent(token));
                match sink.bulk(from, lane, &head, body.remaining()) {
                    Placement::Refused(reason) => Some(reason),
                    Placement::Into(mut place) => {
                        body.transfer(&mut place);
                        sink.bulk_received(from, lane);
                        None
                    }
                }
            }
        };
        boxes.wake(from);
        if let Some(reason) = refused {
            boxes.lose(self.me, from, FailureKind::Protocol, &format!("a packet was refused: {reason}"));
            boxes.lose(from, self.me, FailureKind::Protocol, "a packet was refused there");
        }
    }

    fn tell(boxes: &mut Boxes, me: Peer, sink: &mut dyn Sink) -> bool {
        let notices = std::mem::take(&mut boxes.rank(me).notices);
        let has_some = !notices.is_empty();
        notices.into_iter().for_each(|notice| match notice {
            Notice::Sent(token) => sink.bulk_sent(token),
            Notice::Failed(peer, failure) => sink.failed(peer, failure),
        });
        has_some
    }
}

// SAFETY: C4: a body is read under the lock alone, out of a lane from which it is taken before `bulk_sent`, `failed` or the
// end of a drop; a placement lives only inside `deliver`.
unsafe impl Channel for MiniChannel {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "mini", max_packet: MAX_PACKET, bulk_from: 256 }
    }

    fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        self.boxes().rank(self.me).wake = Some(registrar.wake_handle());
        Ok(())
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.room(peer, Lane::Request).map(drop)
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        let room = self.room(peer, lane)?;
        self.reserved = (room == Room::Granted).then(|| (peer, lane, len, Vec::with_capacity(len)));
        Ok(room)
    }

    fn fill(&mut self, source: Source<'_>) {
        let (_, _, len, bytes) = self.reserved.as_mut().expect("fill needs a reservation");
        let begin = bytes.len();
        bytes.resize(begin + source.len(), 0);
        assert!(bytes.len() <= *len, "more bytes than reserved");
        match source {
            Source::Bytes(from) => bytes[begin..].copy_from_slice(from),
            Source::Memory(gather) => gather.read(&mut bytes[begin..]),
        }
    }

    fn commit(&mut self) {
        let (to, lane, len, bytes) = self.reserved.take().expect("commit needs a reservation");
        assert_eq!(bytes.len(), len, "a packet is filled to its length");
        self.post(to, lane, (bytes, None));
    }

    #[rustfmt::skip]
    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        let room = self.room(peer, lane)?;
        if room == Room::Granted {
            self.post(peer, lane, (head.to_vec(), Some((body, token))));
        }
        Ok(room)
    }

    /// C5: a budget, and each lane in turn.
    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        self.reserved = None;
        self.turn += 1;
        let (me, mut polled, mut bytes) = (self.me, Polled::default(), 0);
        let mut boxes = self.boxes();
        polled.moved = Self::tell(&mut boxes, me, sink);
        for (peer, lane) in boxes.roomy(me) {
            boxes.rank(me).starved.remove(&(peer, lane));
            sink.writable(peer, Lane::ALL[lane]);
            polled.moved = true;
        }
        let lanes: Vec<_> = boxes.lanes.keys().copied().filter(|(_, to, _)| *to == me).collect();
        for at in self.turn.. {
            polled.more = lanes.iter().any(|(from, _, lane)| !boxes.lane(*from, me, *lane).is_empty());
            if !polled.more || polled.packets == budget.packets || bytes >= budget.bytes {
                break;
            }
            let (from, _, lane) = lanes[at % lanes.len()];
            let Some(packet) = boxes.lane(from, me, lane).pop_front() else { continue };
            polled.packets += 1;
            bytes += packet.0.len() + packet.1.as_ref().map_or(0, |(body, _)| body.remaining() as usize);
            self.deliver(&mut boxes, from, Lane::ALL[lane], packet, sink);
        }
        polled.moved |= Self::tell(&mut boxes, me, sink);
        polled
    }

    /// C6: all that a poll acts on changes under the lock and is followed by a wake; what comes after this look wakes.
    fn arm(&mut self) -> Armed {
        if self.boxes().has_work(self.me) { Armed::Busy } else { Armed::Sleep }
    }

    fn close(&mut self) -> Closing {
        let (me, mut boxes) = (self.me, self.boxes());
        let mut mine = boxes.lanes.iter().filter(|((from, ..), _)| *from == me).flat_map(|(_, lane)| lane);
        let is_closed = mine.all(|packet| packet.1.is_none()) && boxes.rank(me).notices.is_empty();
        drop(boxes);
        self.has_closed = is_closed;
        if is_closed { Closing::Closed } else { Closing::Pending }
    }

    fn usage(&self) -> Usage {
        let (me, mut boxes) = (self.me, self.boxes());
        let peers = boxes.rank(me).met.len();
        let mine = boxes.lanes.iter().filter(|((from, ..), _)| *from == me).flat_map(|(_, lane)| lane);
        let bytes = mine.map(|packet| packet.0.len()).sum();
        Usage { peers, bytes, limit_bytes: peers * 2 * LANE_PACKETS * MAX_PACKET }
    }
}

impl Drop for MiniChannel {
    /// C7: a process that goes without a goodbye is dead for all it met. C4: either way nothing is lent any
    /// more.
    fn drop(&mut self) {
        let (me, mut boxes) = (self.me, self.boxes());
        boxes.rank(me).is_dead = !self.has_closed;
        for peer in boxes.rank(me).met.clone() {
            boxes.empty(peer, me);
            if !self.has_closed {
                boxes.lose(peer, me, FailureKind::Dead, "the rank has died");
            }
        }
    }
}
