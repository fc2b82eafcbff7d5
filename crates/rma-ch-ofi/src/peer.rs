//! What is known of one peer: how far contact is, and its lanes.

use crate::block::SlotName;
use crate::fabric::Fabric;
use crate::pull::Pull;
use crate::registration::Exposed;
use crate::transfers::Gone;
use crate::wire::Token;
use rma_core::channel::{BulkToken, Failure, Lane};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use std::collections::VecDeque;
use std::time::Instant;

/// Bodies of a lane that the peer may have been offered and not read: one more than it reads at a time.
pub(crate) const OFFERS: usize = 2;

/// How far contact is.
#[derive(Debug)]
pub(crate) enum Link {
    /// This side's greeting is on its way; the peer's has not come.
    Greeting,
    /// Packets go both ways, to this address and with this token.
    Ready { address: u64, token: Token },
    /// The peer has said goodbye, and everything that it sent has arrived.
    Closed,
    /// The peer is lost, as was or will be reported.
    Failed(Failure),
}

/// One peer.
#[derive(Debug)]
pub(crate) struct PeerState {
    pub(crate) peer: Peer,
    pub(crate) link: Link,
    /// What the peer has to show.
    pub(crate) token: Token,
    /// Where packets to it are built.
    pub(crate) block: u32,
    /// Where parts of its bodies are read to, from the first offer on.
    pub(crate) read_block: Option<u32>,
    pub(crate) sending: [SendLane; 2],
    pub(crate) receiving: [ReceiveLane; 2],
    /// Transfers under way to it, and reads of its bodies to where they belong.
    pub(crate) transfers: u32,
    /// The slots of those reads, a bit each.
    pub(crate) direct_reads: u32,
    /// A transfer was refused for now, and room is to be reported.
    pub(crate) wants_transfer: bool,
    /// Its memory that is reached no more.
    pub(crate) gone: Gone,
    /// Nothing has been sent to it yet: the first packet makes the provider connect.
    pub(crate) owes_hello: bool,
    /// Something of it has arrived, so that the provider is connected.
    pub(crate) is_heard: bool,
    /// Whether it is in the list of those that need something.
    pub(crate) is_listed: bool,
    /// Numbers of packets that the peer's goodbye announced.
    pub(crate) goodbye: Option<[u32; 2]>,
    pub(crate) parting: Parting,
    /// Lost below: reported when what has arrived is handed over.
    pub(crate) lost: Option<Failure>,
    /// The provider does not reach it, since then; what happened to it the lower channel knows, or will never.
    pub(crate) broken: Option<(Instant, String)>,
}

/// How far this side's goodbye is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parting {
    /// None was said.
    Here,
    /// Said; the answer is on its way.
    Said,
    /// The peer has everything.
    Done,
}

/// Packets on their way to the peer, in one lane.
#[derive(Debug)]
pub(crate) struct SendLane {
    /// Packets that the peer has buffers for.
    pub(crate) credits: u32,
    pub(crate) free: Vec<u32>,
    /// Built, and refused by the provider for now.
    pub(crate) waiting: VecDeque<(u32, usize)>,
    /// The body under way in pieces.
    pub(crate) body: Option<(Gather, BulkToken)>,
    /// Bodies that the peer may read, in order.
    pub(crate) offered: VecDeque<(Exposed, BulkToken)>,
    /// Room was refused, and is to be reported.
    pub(crate) is_wanted: bool,
    /// Number of the next packet.
    pub(crate) sequence: u32,
}

/// Packets from the peer, in one lane.
#[derive(Debug, Default)]
pub(crate) struct ReceiveLane {
    /// Number of the next packet.
    pub(crate) sequence: u32,
    /// Buffers posted again that the peer does not know of.
    pub(crate) owed: u32,
    /// The body that is arriving.
    pub(crate) body: Option<Arriving>,
    /// Bodies read that the peer does not know of.
    pub(crate) read: u8,
    /// A poll has left those to a packet of the engine.
    pub(crate) has_waited: bool,
    /// Packets behind a body that is being read, and those that came before one that was sent earlier (long messages take a
    /// way of their own in some providers), by number.
    pub(crate) early: Vec<(u32, Arrival)>,
}

/// A body that is arriving.
#[derive(Debug)]
pub(crate) enum Arriving {
    /// In pieces, so many bytes more.
    Pieces(Scatter, u64),
    /// By reading it.
    Pull(Pull),
}

/// A packet in a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) name: SlotName,
    pub(crate) len: usize,
    /// Its credits were taken when it was looked at the first time.
    pub(crate) is_counted: bool,
}

impl PeerState {
    /// A peer that was not greeted yet; `slots` of the block are for each lane.
    pub(crate) fn new(peer: Peer, token: Token, block: u32, slots: u32) -> Self {
        let lane = |first: u32| SendLane {
            credits: 0,
            free: (first..first + slots).collect(),
            waiting: VecDeque::new(),
            body: None,
            offered: VecDeque::new(),
            is_wanted: false,
            sequence: 0,
        };
        Self {
            peer,
            link: Link::Greeting,
            token,
            block,
            read_block: None,
            sending: [lane(0), lane(slots)],
            receiving: Default::default(),
            transfers: 0,
            direct_reads: 0,
            wants_transfer: false,
            gone: Gone::default(),
            owes_hello: false,
            is_heard: false,
            is_listed: false,
            goodbye: None,
            parting: Parting::Here,
            lost: None,
            broken: None,
        }
    }

    pub(crate) fn slot(&self, slot: u32) -> SlotName {
        SlotName { block: self.block, slot }
    }

    /// Whether what is sent to it has no reader any more.
    pub(crate) fn drops(&self) -> bool {
        self.goodbye.is_some() || matches!(self.link, Link::Closed)
    }

    /// Whether the provider may be connecting.
    pub(crate) fn is_connecting(&self) -> bool {
        let is_ready = matches!(self.link, Link::Ready { .. }) && self.parting == Parting::Here;
        is_ready && !self.is_heard && !self.drops() && self.lost.is_none() && self.broken.is_none()
    }

    /// Whether packets and transfers go to it.
    pub(crate) fn is_usable(&self) -> bool {
        matches!(self.link, Link::Ready { .. }) && self.lost.is_none() && self.broken.is_none()
    }

    /// Whether a packet of any length has room.
    pub(crate) fn has_room(&self, lane: Lane) -> bool {
        let SendLane { credits, free, waiting, body, offered, .. } = &self.sending[lane as usize];
        let is_open = body.is_none() && offered.len() < OFFERS;
        self.is_usable() && *credits > 0 && !free.is_empty() && waiting.is_empty() && is_open
    }

    /// Whether everything committed has left, and every transfer is over.
    pub(crate) fn has_sent_all(&self) -> bool {
        self.transfers == 0
            && self
                .sending
                .iter()
                .all(|lane| lane.waiting.is_empty() && lane.body.is_none() && lane.offered.is_empty())
    }

    /// Whether everything that the peer's goodbye announced has been handed over, and nothing is under way to its memory.
    pub(crate) fn has_everything(&self) -> bool {
        let counts = [self.receiving[0].sequence, self.receiving[1].sequence];
        self.goodbye == Some(counts)
            && self.transfers == 0
            && self.receiving.iter().all(|lane| lane.body.is_none())
    }

    /// Whether a poll has something to do for it, besides what arrives.
    pub(crate) fn needs_serving(&self, owed_from: u32) -> bool {
        if self.drops() && self.sending.iter().any(|lane| lane.is_wanted || lane.body.is_some()) {
            return true;
        }
        if self.is_usable() && (self.wants_transfer || self.owes_hello && !self.drops()) {
            return true;
        }
        self.is_usable()
            && Lane::ALL.iter().any(|lane| {
                let send = &self.sending[*lane as usize];
                let receive = &self.receiving[*lane as usize];
                let can_go_on = send.body.is_some() && send.credits > 0 && !send.free.is_empty();
                !send.waiting.is_empty()
                    || can_go_on
                    || (send.is_wanted && self.has_room(*lane))
                    || receive.owed >= owed_from
                    || receive.read > 0
                    || matches!(&receive.body, Some(Arriving::Pull(pull)) if pull.can_ask())
            })
    }

    /// Nothing is sent to it any more, and it reads nothing: the bodies that this gives back.
    pub(crate) fn drop_all(&mut self, fabric: &mut Fabric) -> Vec<BulkToken> {
        let mut tokens = Vec::new();
        for lane in &mut self.sending {
            let slots: Vec<u32> = lane.waiting.drain(..).map(|(slot, _)| slot).collect();
            lane.free.extend(slots);
            for (exposed, token) in lane.offered.drain(..) {
                fabric.withdraw(exposed);
                tokens.push(token);
            }
            tokens.extend(lane.body.take().map(|(_, token)| token));
        }
        tokens
    }
}
