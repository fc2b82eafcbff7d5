//! The sink of the suite: checks every arrival against the ledger and the contract, and remembers what happened.
//!
//! Violations are collected, not raised, because a panic must not unwind through the channel's poll.

use super::ledger::{Ledger, Stream};
use super::memory::{LentBody, Shape, pattern};
use crate::channel::{
    Budget, BulkToken, Delivery, Failure, Lane, Placement, Sink, TransferError, TransferToken,
};
use crate::ids::Peer;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Something that a poll handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PollEvent {
    Packet(Peer, Lane),
    BulkHead(Peer, Lane),
    BulkReceived(Peer, Lane),
    BulkSent(BulkToken),
    Writable(Peer, Lane),
    Failed(Peer),
    Transferred(TransferToken, Result<(), TransferError>),
}

/// What one rank got, and what it waits for.
#[derive(Debug)]
pub(super) struct Recorder {
    me: Peer,
    ledger: Ledger,
    /// Everything in order.
    pub(super) events: Vec<PollEvent>,
    /// Peers that were reported lost.
    pub(super) failed: BTreeMap<Peer, Failure>,
    /// Streams that were full and have not become writable.
    pub(super) full: HashSet<(Peer, Lane)>,
    /// Peers that had no room for a transfer.
    pub(super) transfers_full: HashSet<Peer>,
    /// Bulk bodies that the channel still has.
    pub(super) outgoing: HashMap<BulkToken, (Peer, LentBody)>,
    /// Transfers that the channel has not answered.
    pub(super) transfers: HashMap<TransferToken, Transfer>,
    /// Memory that peers may reach.
    pub(super) exposed: Vec<LentBody>,
    /// The next packets of these streams are refused.
    pub(super) refuse: HashSet<(Peer, Lane)>,
    /// What the channel did against the contract.
    pub(super) violations: Vec<String>,
    landing: HashMap<(Peer, Lane), Landing>,
    landed: Vec<LentBody>,
    /// Bodies that were sent. A channel that breaks C4 still reads them: it finds the poison, and not what others own.
    left: Vec<LentBody>,
    handed: u32,
    handed_bytes: usize,
    budget: Budget,
}

/// A transfer under way.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) peer: Peer,
    pub(super) buffer: LentBody,
    /// What a read is to bring; `None` for a write.
    pub(super) brings: Option<Vec<u8>>,
}

#[derive(Debug)]
struct Landing {
    seed: u64,
    /// `None` when the body is dropped.
    body: Option<LentBody>,
}

impl Recorder {
    pub(super) fn new(me: Peer, ledger: Ledger) -> Self {
        Self {
            me,
            ledger,
            events: Vec::new(),
            failed: BTreeMap::new(),
            full: HashSet::new(),
            transfers_full: HashSet::new(),
            outgoing: HashMap::new(),
            transfers: HashMap::new(),
            exposed: Vec::new(),
            refuse: HashSet::new(),
            violations: Vec::new(),
            landing: HashMap::new(),
            landed: Vec::new(),
            left: Vec::new(),
            handed: 0,
            handed_bytes: 0,
            budget: Budget { packets: 0, bytes: 0 },
        }
    }

    /// Called before a poll.
    pub(super) fn begin_poll(&mut self, budget: Budget) {
        (self.handed, self.handed_bytes, self.budget) = (0, 0, budget);
    }

    /// Packets handed over since [`Recorder::begin_poll`].
    pub(super) fn handed(&self) -> u32 {
        self.handed
    }

    /// Number of events that match.
    pub(super) fn count(&self, matches: impl Fn(&PollEvent) -> bool) -> usize {
        self.events.iter().filter(|e| matches(e)).count()
    }

    /// Packets that arrived whole from a peer in a lane.
    pub(super) fn packets_from(&self, from: Peer, lane: Lane) -> usize {
        self.count(|e| *e == PollEvent::Packet(from, lane) || *e == PollEvent::BulkReceived(from, lane))
    }

    /// The rank is dead: its bodies have no owner, but stay in memory as long as any channel does.
    pub(super) fn bury(&mut self) {
        self.full.clear();
        for (_, (_, body)) in self.outgoing.drain() {
            body.poison();
            self.landed.push(body);
        }
        for (_, Transfer { buffer, .. }) in self.transfers.drain() {
            buffer.poison();
            self.landed.push(buffer);
        }
    }

    /// Keeps memory that no channel may touch any more, to see whether one does.
    pub(super) fn keep(&mut self, poisoned: LentBody) {
        self.landed.push(poisoned);
    }

    /// Looks for writes into memory of bodies that are over.
    pub(super) fn check_landed(&mut self) {
        for body in &self.landed {
            if let Err(wrong) = body.check_poison() {
                self.violations.push(format!("C4: {wrong} (receiver, after bulk_received or failed)"));
            }
        }
    }

    fn violate(&mut self, clause: &str, from: Peer, lane: Lane, what: impl AsRef<str>) {
        let (me, what) = (self.me, what.as_ref());
        self.violations.push(format!("{clause}: rank {me}, from rank {from}, {lane:?} lane: {what}"));
    }

    fn begin_packet(&mut self, from: Peer, lane: Lane, len: usize) {
        if self.handed >= self.budget.packets || self.handed_bytes >= self.budget.bytes {
            let (handed, bytes, budget) = (self.handed, self.handed_bytes, self.budget);
            self.violate("C5", from, lane, format!("{handed} packets of {bytes} bytes used up {budget:?}"));
        }
        self.handed += 1;
        self.handed_bytes += len;
        if self.failed.contains_key(&from) {
            self.violate("C7", from, lane, "a packet after that peer failed");
        }
        if self.landing.contains_key(&(from, lane)) {
            self.violate("C1", from, lane, "a packet before the body of the one before it is in place");
        }
    }

    fn check_bytes(&mut self, from: Peer, lane: Lane, seed: u64, bytes: &[u8]) {
        if let Some(i) = (0..bytes.len()).find(|i| bytes[*i] != pattern(seed, *i)) {
            self.violate("C1", from, lane, format!("byte {i} of {} is not as committed", bytes.len()));
        }
    }
}

impl Sink for Recorder {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        self.begin_packet(from, lane, bytes.len());
        if self.refuse.remove(&(from, lane)) {
            return Delivery::Refused("refused by the test");
        }
        let stream = Stream::new(from, self.me, lane);
        match self.ledger.first(stream) {
            Some(e) if e.body.is_none() && e.len == bytes.len() => {
                self.check_bytes(from, lane, e.seed, bytes);
            }
            other => {
                let what = format!("a packet of {} bytes came, expected was {other:?}", bytes.len());
                self.violate("C1", from, lane, what);
            }
        }
        self.ledger.arrived(stream);
        self.events.push(PollEvent::Packet(from, lane));
        Delivery::Accepted
    }

    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
        self.begin_packet(from, lane, head.len());
        if self.refuse.remove(&(from, lane)) {
            return Placement::Refused("refused by the test");
        }
        let stream = Stream::new(from, self.me, lane);
        self.events.push(PollEvent::BulkHead(from, lane));
        match self.ledger.first(stream) {
            Some(e) if e.len == head.len() && e.body.is_some_and(|(len, _)| len as u64 == body_len) => {
                self.check_bytes(from, lane, e.seed, head);
                let (len, shape) = e.body.expect("the guard has looked");
                let body = (shape != Shape::Discard).then(|| LentBody::new(len, shape));
                let placement = body
                    .as_ref()
                    .map_or_else(|| crate::datatype::Scatter::discard(body_len), LentBody::scatter);
                self.landing.insert((from, lane), Landing { seed: e.seed, body });
                Placement::Into(placement)
            }
            other => {
                let what = format!("a bulk {}+{body_len} came, expected was {other:?}", head.len());
                self.violate("C1", from, lane, what);
                Placement::Refused("not the packet that the test expected")
            }
        }
    }

    fn bulk_received(&mut self, from: Peer, lane: Lane) {
        let Some(landing) = self.landing.remove(&(from, lane)) else {
            return self.violate("C1", from, lane, "a body is in place that no head announced");
        };
        if self.failed.contains_key(&from) {
            self.violate("C7", from, lane, "a body is in place after that peer failed");
        }
        if let Some(body) = landing.body {
            if let Err(wrong) = body.check(landing.seed + 1) {
                self.violate("C1", from, lane, wrong);
            }
            body.poison();
            self.landed.push(body);
        }
        self.ledger.arrived(Stream::new(from, self.me, lane));
        self.events.push(PollEvent::BulkReceived(from, lane));
    }

    fn bulk_sent(&mut self, token: BulkToken) {
        match self.outgoing.remove(&token) {
            None => self
                .violations
                .push(format!("C4: rank {}: bulk_sent for {token:?} twice or unasked", self.me)),
            Some((_, body)) => {
                body.poison();
                self.left.push(body);
            }
        }
        self.events.push(PollEvent::BulkSent(token));
    }

    fn transferred(&mut self, token: TransferToken, outcome: Result<(), TransferError>) {
        let me = self.me;
        match self.transfers.remove(&token) {
            None => self.violations.push(format!("R2: rank {me}: {token:?} is answered twice, or unasked")),
            Some(Transfer { buffer, brings, peer }) => {
                if outcome.is_ok() && brings.is_some_and(|brings| brings != buffer.to_bytes()) {
                    self.violations.push(format!("R4: rank {me}: not what rank {peer} has there was read"));
                }
                buffer.poison();
                self.landed.push(buffer);
            }
        }
        self.events.push(PollEvent::Transferred(token, outcome));
    }

    fn writable(&mut self, peer: Peer, lane: Lane) {
        let is_asked = self.full.remove(&(peer, lane)) || self.transfers_full.remove(&peer);
        if !is_asked {
            self.violate("C3", peer, lane, "writable without a lane that was full");
        }
        self.events.push(PollEvent::Writable(peer, lane));
    }

    fn failed(&mut self, peer: Peer, failure: Failure) {
        if self.outgoing.values().any(|(to, _)| *to == peer) {
            self.violate("C4", peer, Lane::Request, "failed before bulk_sent for every bulk to that peer");
        }
        if self.transfers.values().any(|transfer| transfer.peer == peer) {
            self.violate("R2", peer, Lane::Request, "failed before the answer of every transfer");
        }
        if self.failed.insert(peer, failure).is_some() {
            self.violate("C7", peer, Lane::Request, "failed twice");
        }
        for lane in Lane::ALL {
            self.full.remove(&(peer, lane));
            if let Some(Landing { body: Some(body), .. }) = self.landing.remove(&(peer, lane)) {
                body.poison();
                self.landed.push(body);
            }
        }
        self.events.push(PollEvent::Failed(peer));
    }
}
