//! A channel made of several: each peer is reached through one of them.
//!
//! Invariants: the choice for a peer never changes and is the same at both ends, so every clause that holds for a pair in
//! the parts holds here; a poll gives each part its turn to be first, so that none starves behind a busy one.

use super::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Delivery, Exposure, Failure, Issued, Lane,
    Placement, Polled, RemoteKey, RemoteMemory, RemotePlace, Room, Sink, Source, TransferError,
    TransferLimits, TransferToken, Usage, Withdrawal,
};
use crate::datatype::Gather;
use crate::ids::Peer;
use crate::mem::{ReadSpan, WriteSpan};
use crate::poller::Registrar;
use slab::Slab;
use smallvec::SmallVec;
use std::{fmt, io};

/// The index of the part that reaches a peer.
pub type Route = Box<dyn Fn(Peer) -> usize + Send>;

/// Several channels as one. Its capabilities are what all parts can do; [`Channel::capabilities_for`] answers
/// those of a peer.
pub struct Router {
    parts: Vec<Box<dyn Channel>>,
    route: Route,
    /// The part that has granted the reservation in hand.
    reserved: Option<usize>,
    turn: usize,
    /// Memory that is exposed, by the parts that could.
    exposures: Slab<SmallVec<[(usize, Exposure); 1]>>,
}

/// Passes everything on, and counts bytes for the budget of the parts that follow.
struct Meter<'a> {
    sink: &'a mut dyn Sink,
    bytes: usize,
}

impl Router {
    /// Reaches each peer through the part that `route` names.
    ///
    /// # Panics
    /// Without parts. Calls for a peer panic when `route` names no part.
    pub fn new(parts: Vec<Box<dyn Channel>>, route: Route) -> Self {
        assert!(!parts.is_empty(), "a router needs a channel");
        Self { parts, route, reserved: None, turn: 0, exposures: Slab::new() }
    }

    fn part(&mut self, peer: Peer) -> &mut dyn Channel {
        &mut *self.parts[(self.route)(peer)]
    }

    fn reserved_part(&mut self, call: &str) -> &mut dyn Channel {
        let part = self.reserved.unwrap_or_else(|| panic!("{call} needs a reservation"));
        &mut *self.parts[part]
    }
}

// SAFETY: every clause about memory is kept by the parts, which get gathers and give back placements unchanged.
unsafe impl Channel for Router {
    fn capabilities(&self) -> Capabilities {
        let all = || self.parts.iter().map(|part| part.capabilities());
        let of = |pick: fn(Capabilities) -> usize| all().map(pick).min().unwrap_or(0);
        let name = match &self.parts[..] {
            [only] => only.capabilities().name,
            _ => "mixed",
        };
        Capabilities { name, max_packet: of(|c| c.max_packet), bulk_from: of(|c| c.bulk_from) }
    }

    fn capabilities_for(&self, peer: Peer) -> Capabilities {
        self.parts[(self.route)(peer)].capabilities_for(peer)
    }

    fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        self.parts.iter_mut().try_for_each(|part| part.register(registrar))
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.part(peer).connect(peer)
    }

    fn give_up(&mut self, peer: Peer, cause: &str) {
        self.part(peer).give_up(peer, cause);
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        let part = (self.route)(peer);
        self.reserved = None;
        let room = self.parts[part].reserve(peer, lane, len)?;
        if room == Room::Granted {
            self.reserved = Some(part);
        }
        Ok(room)
    }

    fn fill(&mut self, source: Source<'_>) {
        self.reserved_part("fill").fill(source);
    }

    fn commit(&mut self) {
        self.reserved_part("commit").commit();
        self.reserved = None;
    }

    fn send(&mut self, peer: Peer, lane: Lane, packet: &[u8]) -> Result<Room, Failure> {
        self.reserved = None;
        self.part(peer).send(peer, lane, packet)
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
        self.part(peer).send_bulk(peer, lane, head, body, token)
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        self.reserved = None;
        let count = self.parts.len();
        // A poll that takes nothing is no turn, or with two parts the same one would always be first.
        if budget.packets > 0 {
            self.turn = (self.turn + 1) % count;
        }
        let (mut all, mut left) = (Polled::default(), budget);
        for i in 0..count {
            let mut meter = Meter { sink: &mut *sink, bytes: 0 };
            let polled = self.parts[(self.turn + i) % count].poll(&mut meter, left);
            left.bytes = left.bytes.saturating_sub(meter.bytes);
            left.packets = left.packets.saturating_sub(polled.packets);
            if left.bytes == 0 {
                left.packets = 0;
            }
            all.packets += polled.packets;
            all.moved |= polled.moved;
            all.more |= polled.more;
        }
        all
    }

    fn is_quiet(&self) -> bool {
        self.parts.iter().all(|part| part.is_quiet())
    }

    fn keeps_packets(&self) -> bool {
        self.parts.iter().any(|part| part.keeps_packets())
    }

    fn arm(&mut self) -> Armed {
        // A part that was armed before another says "busy" wakes a rank that is awake: no harm.
        let is_busy = self.parts.iter_mut().any(|part| part.arm() == Armed::Busy);
        if is_busy { Armed::Busy } else { Armed::Sleep }
    }

    fn close(&mut self) -> Closing {
        self.reserved = None;
        // Every part is closed at once.
        let pending =
            self.parts.iter_mut().filter_map(|p| (p.close() == Closing::Pending).then_some(())).count();
        if pending == 0 { Closing::Closed } else { Closing::Pending }
    }

    fn transfers(&self, peer: Peer) -> Option<TransferLimits> {
        self.parts[(self.route)(peer)].transfers(peer)
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        let has_any = self.parts.iter_mut().any(|part| part.remote_memory().is_some());
        has_any.then_some(self as &mut dyn RemoteMemory)
    }

    fn usage(&self) -> Usage {
        self.parts.iter().map(|part| part.usage()).fold(Usage::default(), |a, b| Usage {
            peers: a.peers + b.peers,
            bytes: a.bytes + b.bytes,
            limit_bytes: a.limit_bytes + b.limit_bytes,
        })
    }
}

// SAFETY: the clauses about memory are kept by the parts, which get spans unchanged; what is withdrawn is withdrawn from each
// part that has it.
unsafe impl RemoteMemory for Router {
    unsafe fn expose(&mut self, memory: WriteSpan) -> Result<Exposure, Failure> {
        let (mut exposed, mut refusal) = (SmallVec::new(), None);
        for (index, part) in self.parts.iter_mut().enumerate() {
            let Some(part) = part.remote_memory() else { continue };
            // SAFETY: the caller's promise, for the time until this channel withdraws it from the part.
            match unsafe { part.expose(memory) } {
                Ok(exposure) => exposed.push((index, exposure)),
                Err(failure) => refusal = Some(failure),
            }
        }
        match refusal.filter(|_| exposed.is_empty()) {
            Some(failure) => Err(failure),
            None => Ok(Exposure(self.exposures.insert(exposed) as u64)),
        }
    }

    fn key(&mut self, exposure: Exposure, peer: Peer) -> Option<RemoteKey> {
        let route = (self.route)(peer);
        let exposed = self.exposures.get(exposure.0 as usize)?;
        let (_, exposure) = *exposed.iter().find(|(part, _)| *part == route)?;
        self.parts[route].remote_memory()?.key(exposure, peer)
    }

    fn withdraw(&mut self, exposure: Exposure, is_idle: bool) -> Withdrawal {
        let Some(exposed) = self.exposures.get_mut(exposure.0 as usize) else { return Withdrawal::Over };
        exposed.retain(|(part, exposure)| {
            let part = self.parts[*part].remote_memory();
            part.is_some_and(|part| part.withdraw(*exposure, is_idle) == Withdrawal::Pending)
        });
        if !exposed.is_empty() {
            return Withdrawal::Pending;
        }
        self.exposures.remove(exposure.0 as usize);
        Withdrawal::Over
    }

    fn write(
        &mut self,
        peer: Peer,
        from: ReadSpan,
        to: RemotePlace,
        token: TransferToken,
    ) -> Result<Issued, Failure> {
        let part = self.part(peer).remote_memory();
        part.map_or(Ok(Issued::Never), |part| part.write(peer, from, to, token))
    }

    fn read(
        &mut self,
        peer: Peer,
        into: WriteSpan,
        from: RemotePlace,
        token: TransferToken,
    ) -> Result<Issued, Failure> {
        let part = self.part(peer).remote_memory();
        part.map_or(Ok(Issued::Never), |part| part.read(peer, into, from, token))
    }
}

impl Sink for Meter<'_> {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        self.bytes += bytes.len();
        self.sink.packet(from, lane, bytes)
    }

    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
        self.bytes += head.len();
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

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.parts.iter().map(|part| part.capabilities().name).collect();
        f.debug_struct("Router").field("parts", &names).finish_non_exhaustive()
    }
}
