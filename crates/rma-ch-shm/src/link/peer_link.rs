//! The state of one peer in contact, and what a poll does for it.
//!
//! Both processes of a pair may contact each other at the same time. Nothing is lost or sent twice, because
//! each decides once, before it sends anything, where it sends: on the block that it made, if it contacted
//! the other before it heard of the other's block, else on the other's. A process that made a block and then
//! hears of the other's knows by that where the other sends, and that nothing was written to the other
//! direction of its own.
//!
//! Invariants: the end of a peer is final and decided once; what the peer wrote before its end is handed over first, but
//! for a peer that breaks the rules, which is not listened to any more.

use super::doorbell::Doorbell;
use super::incoming::{Allowance, Incoming};
use super::outgoing::Outgoing;
use crate::block::Block;
use crate::handshake::{self, Message, Refusal};
use crate::layout::{Geometry, Side};
use crate::ring::{Consumer, Corrupt, Producer};
use crate::sockets;
use rma_core::channel::{Failure, FailureKind, Lane, Sink};
use rma_core::ids::Peer;
use smallvec::SmallVec;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A peer in contact.
#[derive(Debug)]
pub(crate) struct Link {
    peer: Peer,
    out: [Outgoing; 2],
    incoming: [Incoming; 2],
    connections: SmallVec<[Connection; 2]>,
    doorbell: Option<Doorbell>,
    ending: Ending,
    /// Whether the peer has made contact, besides this process or instead of it.
    is_accepted: bool,
    block_bytes: usize,
}

/// How far a peer has come to its end.
///
/// ```text
///   Open ── goodbye ──▶ Parting ── end of stream ──▶ Left
///    ├───── end of stream ──▶ Dead
///    └───── from any: corruption; from Open and Parting: refusal ──▶ Broken
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It lives.
    Open,
    /// It said goodbye and still listens.
    Parting,
    /// It said goodbye and has gone.
    Left,
    /// It has gone without goodbye; what it wrote is still handed over.
    Dead(Failure),
    /// It is not listened to any more.
    Broken(Failure),
}

/// Which end of a connection this process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Initiator = 0,
    Acceptor = 1,
}

#[derive(Debug)]
struct Connection {
    role: Role,
    socket: OwnedFd,
    has_sent_goodbye: bool,
}

impl Link {
    /// A link over a block that this process (`Side::Initiator`) or the peer made.
    pub(crate) fn new(peer: Peer, block: Block, geometry: Geometry, side: Side) -> Self {
        let block = Arc::new(block);
        let block_bytes = block.len();
        Self {
            peer,
            out: Lane::ALL
                .map(|lane| Outgoing::new(Producer::new(Arc::clone(&block), geometry.ring(side, lane)))),
            incoming: Self::incoming_of(block, geometry, side),
            connections: SmallVec::new(),
            doorbell: None,
            ending: Ending::Open,
            is_accepted: side == Side::Acceptor,
            block_bytes,
        }
    }

    /// Takes the peer's block besides the own one: the peer sends there.
    pub(crate) fn adopt(&mut self, block: Block, geometry: Geometry) -> Result<(), Refusal> {
        if matches!(self.ending, Ending::Broken(_))
            || self.is_accepted
            || self.incoming.iter().any(|lane| !lane.is_unused())
        {
            return Err(Refusal::Repeated);
        }
        self.block_bytes += block.len();
        self.is_accepted = true;
        self.incoming = Self::incoming_of(Arc::new(block), geometry, Side::Acceptor);
        Ok(())
    }

    /// Adds a connection to the peer.
    pub(crate) fn connect(&mut self, role: Role, socket: OwnedFd) {
        self.connections.push(Connection { role, socket, has_sent_goodbye: false });
    }

    pub(crate) fn set_doorbell(&mut self, doorbell: Doorbell) {
        self.doorbell.get_or_insert(doorbell);
    }

    /// Whether the peer has made contact itself.
    pub(crate) fn is_accepted(&self) -> bool {
        self.is_accepted
    }

    /// Whether nothing more is written by the peer.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.ending, Ending::Left | Ending::Dead(_))
    }

    pub(crate) fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Bytes of shared memory mapped for the peer.
    pub(crate) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// The lane to send on, or why the peer cannot be sent to.
    pub(crate) fn lane(&mut self, lane: Lane) -> Result<&mut Outgoing, Failure> {
        match &self.ending {
            Ending::Open | Ending::Parting => Ok(&mut self.out[lane as usize]),
            Ending::Left => Err(has_left(self.peer)),
            Ending::Dead(failure) | Ending::Broken(failure) => Err(failure.clone()),
        }
    }

    /// A lane that was reserved on; a peer's end since then does not matter to it.
    pub(crate) fn reserved_lane(&mut self, lane: Lane) -> &mut Outgoing {
        &mut self.out[lane as usize]
    }

    /// Wakes the peer.
    pub(crate) fn ring(&self) {
        if let Some(doorbell) = &self.doorbell {
            return doorbell.ring();
        }
        // Before the peer has answered the hello. If its queue is full it has something to read, and is awake.
        if let Some(connection) = self.connections.first() {
            let _ = sockets::send(&connection.socket, &handshake::knock(), &[]);
        }
    }

    /// Whether a poll has nothing to do here: two loads of shared memory.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.ending, Ending::Open) && !self.has_record() && !self.out.iter().any(Outgoing::is_busy)
    }

    /// Moves bytes both ways and hands over what arrived. Says whether the peer has come to its end.
    pub(crate) fn poll(
        &mut self,
        sink: &mut dyn Sink,
        scratch: &mut [u8],
        allowance: &mut Allowance,
    ) -> bool {
        if let Err(corrupt) = self.exchange(sink, scratch, allowance) {
            self.on_corrupt(corrupt);
        }
        match &self.ending {
            Ending::Open | Ending::Parting => false,
            Ending::Broken(_) => true,
            Ending::Left | Ending::Dead(_) => !self.has_record(),
        }
    }

    /// Reads a connection's messages; `read` gives their meaning. Says whether there was any.
    pub(crate) fn listen(&mut self, role: Role, read: &dyn Fn(&[u8]) -> Result<Message, Refusal>) -> bool {
        let mut heard = false;
        // A few messages at most are ever sent on a connection; a peer that sends more is heard again next time.
        for _ in 0..8 {
            let Some(connection) = self.connections.iter().find(|c| c.role == role) else { return heard };
            let message = sockets::receive::<{ handshake::LONGEST }>(&connection.socket);
            match message {
                Ok(message) if !message.bytes().is_empty() => {
                    let meaning = read(message.bytes());
                    if message.has_lost_some {
                        self.break_off_without_files();
                    }
                    self.on_message(role, meaning, message.descriptors.into_iter());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return heard,
                // The other end was closed with something unread; what it sent before can still be read.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                Ok(_) | Err(_) => self.on_end(role),
            }
            heard = true;
        }
        heard
    }

    /// The rings that the peer sends on, to ask to be woken by their next records; see [`crate::ring::arm_all`].
    pub(crate) fn consumers(&mut self) -> impl Iterator<Item = &mut Consumer> {
        self.incoming.iter_mut().map(Incoming::ring)
    }

    /// Asks to be woken by room for what waits. [`Link::is_quiet`] must follow.
    pub(crate) fn arm_for_room(&self) {
        self.out.iter().for_each(Outgoing::arm);
    }

    /// Asks for everything while a sleeper has asked all other peers: the doorbell is not emptied.
    pub(crate) fn arm_without_clearing(&mut self) {
        self.consumers().for_each(Consumer::arm);
        self.arm_for_room();
    }

    /// Takes back what was asked for.
    pub(crate) fn disarm(&mut self) {
        for lane in &mut self.incoming {
            lane.disarm();
        }
        for lane in &self.out {
            lane.disarm();
        }
    }

    /// Whether a poll would find nothing to do; once everything was asked for, what comes later rings.
    pub(crate) fn is_quiet(&mut self) -> bool {
        matches!(self.ending, Ending::Open | Ending::Parting)
            && !self.has_record()
            && !self.out.iter_mut().any(|lane| lane.can_move().unwrap_or(true))
    }

    /// Whether everything accepted for the peer has left.
    pub(crate) fn is_drained(&self) -> bool {
        self.out.iter().all(Outgoing::is_drained)
    }

    /// Tells the peer that this process leaves; `false` while a socket has no room for that.
    pub(crate) fn say_goodbye(&mut self) -> bool {
        for connection in self.connections.iter_mut().filter(|c| !c.has_sent_goodbye) {
            match sockets::send(&connection.socket, &handshake::goodbye(), &[]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                // A peer that has gone needs no goodbye; its end is noticed by reading.
                Ok(()) | Err(_) => connection.has_sent_goodbye = true,
            }
        }
        true
    }

    /// Ends contact: hands over what is owed and gives the failure, if it is one.
    pub(crate) fn finish(mut self, sink: &mut dyn Sink) -> Option<Failure> {
        for lane in &mut self.out {
            lane.give_up(sink);
        }
        match self.ending {
            Ending::Dead(failure) | Ending::Broken(failure) => Some(failure),
            Ending::Open | Ending::Parting | Ending::Left => {
                // A waiter for room asks again, and learns that the peer has left.
                for lane in Lane::ALL {
                    if self.out[lane as usize].take_wanted() {
                        sink.writable(self.peer, lane);
                    }
                }
                None
            }
        }
    }

    /// Stops listening to the peer, and tells it why if it still listens.
    pub(crate) fn break_off(&mut self, reason: Refusal, failure: Failure) {
        for connection in &self.connections {
            // A refusal that cannot be sent is lost.
            let _ = sockets::send(&connection.socket, &handshake::refusal(reason), &[]);
        }
        if !matches!(self.ending, Ending::Broken(_)) {
            self.ending = Ending::Broken(failure);
        }
    }

    /// Notes that the other process broke the format of the rings.
    #[cold]
    pub(crate) fn on_corrupt(&mut self, corrupt: Corrupt) -> Failure {
        let detail = format!("process {} sent what no process of this job sends: {}", self.peer, corrupt.0);
        let failure = Failure { kind: FailureKind::Protocol, detail };
        self.break_off(Refusal::Packet, failure.clone());
        failure
    }

    fn exchange(
        &mut self,
        sink: &mut dyn Sink,
        scratch: &mut [u8],
        allowance: &mut Allowance,
    ) -> Result<(), Corrupt> {
        if matches!(self.ending, Ending::Broken(_)) {
            return Ok(());
        }
        // Responses first: a caller waits for them.
        let mut must_ring = self.receive(Lane::Response, sink, scratch, allowance)?;
        must_ring |= self.receive(Lane::Request, sink, scratch, allowance)?;
        if self.out.iter().any(Outgoing::is_busy) && matches!(self.ending, Ending::Open | Ending::Parting) {
            for lane in [Lane::Response, Lane::Request] {
                must_ring |= self.send_on(lane, sink, allowance)?;
            }
        }
        if must_ring {
            self.ring();
        }
        Ok(())
    }

    /// Hands over what a lane has. Says whether the peer must be woken for the room.
    #[inline]
    fn receive(
        &mut self,
        lane: Lane,
        sink: &mut dyn Sink,
        scratch: &mut [u8],
        allowance: &mut Allowance,
    ) -> Result<bool, Corrupt> {
        let incoming = &mut self.incoming[lane as usize];
        if incoming.has_record() {
            incoming.receive(self.peer, lane, sink, scratch, allowance)
        } else {
            Ok(false)
        }
    }

    /// Moves the body of a lane on, and reports what is owed. Says whether the peer must be woken for what was sent.
    #[inline(never)]
    fn send_on(
        &mut self,
        lane: Lane,
        sink: &mut dyn Sink,
        allowance: &mut Allowance,
    ) -> Result<bool, Corrupt> {
        let out = &mut self.out[lane as usize];
        if !out.is_busy() {
            return Ok(false);
        }
        let has_moved = out.pump()?;
        let must_ring = has_moved && out.must_ring();
        allowance.polled.moved |= has_moved | out.report(self.peer, lane, sink)?;
        Ok(must_ring)
    }

    fn has_record(&self) -> bool {
        self.incoming.iter().any(Incoming::has_record)
    }

    fn on_message(
        &mut self,
        role: Role,
        meaning: Result<Message, Refusal>,
        mut descriptors: impl Iterator<Item = OwnedFd>,
    ) {
        let refusal = match (meaning, role) {
            (Ok(Message::Goodbye), _) if self.ending == Ending::Open => return self.end(Ending::Parting),
            (Ok(Message::Goodbye | Message::Knock), _) => return,
            (Ok(Message::Welcome(from)), Role::Initiator) if from == self.peer => {
                match descriptors.next().map(Doorbell::received) {
                    Some(Ok(doorbell)) => return self.set_doorbell(doorbell),
                    _ => Refusal::Descriptors,
                }
            }
            (Ok(Message::Refusal(reason)), _) => {
                let detail = format!("process {} refused this one: {}", self.peer, reason.text());
                let kind = match reason {
                    Refusal::Resources | Refusal::Files => FailureKind::Unreachable,
                    _ => FailureKind::Protocol,
                };
                return self.end(Ending::Broken(Failure { kind, detail }));
            }
            (Ok(Message::Hello(_) | Message::Welcome(_)), _) => Refusal::Repeated,
            (Err(reason), _) => reason,
        };
        let detail =
            format!("process {} sent a message that does not belong there: {}", self.peer, refusal.text());
        self.break_off(refusal, Failure { kind: FailureKind::Protocol, detail });
    }

    #[cold]
    fn break_off_without_files(&mut self) {
        let detail = format!("process {} cannot be reached: {}", self.peer, sockets::out_of_files());
        self.break_off(Refusal::Files, Failure { kind: FailureKind::Unreachable, detail });
    }

    fn on_end(&mut self, role: Role) {
        self.connections.retain(|c| c.role != role);
        match self.ending {
            Ending::Open => {
                let detail = format!("process {} has ended without leaving the job", self.peer);
                self.end(Ending::Dead(Failure { kind: FailureKind::Dead, detail }));
            }
            Ending::Parting => self.end(Ending::Left),
            Ending::Left | Ending::Dead(_) | Ending::Broken(_) => {}
        }
    }

    fn end(&mut self, ending: Ending) {
        if !matches!(self.ending, Ending::Broken(_) | Ending::Dead(_) | Ending::Left) {
            self.ending = ending;
        }
    }

    fn incoming_of(block: Arc<Block>, geometry: Geometry, own: Side) -> [Incoming; 2] {
        Lane::ALL
            .map(|lane| Incoming::new(Consumer::new(Arc::clone(&block), geometry.ring(own.other(), lane))))
    }
}

/// What sending to a peer that has left says.
pub(crate) fn has_left(peer: Peer) -> Failure {
    Failure { kind: FailureKind::Unreachable, detail: format!("process {peer} has left the job") }
}
