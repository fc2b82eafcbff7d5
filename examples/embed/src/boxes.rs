//! The letter boxes between Mini's ranks: what all of them see, under one lock.

use rma_core::channel::{BulkToken, Failure, FailureKind};
use rma_core::datatype::Gather;
use rma_core::ids::Peer;
use rma_core::poller::WakeHandle;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

/// Packets that a lane of a pair holds (C3, C8).
pub(crate) const LANE_PACKETS: usize = 8;

/// A packet of the engine under way, and the body of a bulk, still in the sender's memory.
pub(crate) type Packet = (Vec<u8>, Option<(Gather, BulkToken)>);
/// Name of a collective: context, part of the group, number.
pub(crate) type Key = (u64, Option<u32>, u64);

/// What else a rank's channel hands over at its next poll.
#[derive(Debug)]
pub(crate) enum Notice {
    Sent(BulkToken),
    Failed(Peer, Failure),
}

#[derive(Debug, Default)]
pub(crate) struct Rank {
    pub(crate) wake: Option<WakeHandle>,
    pub(crate) notices: Vec<Notice>,
    /// Mini's own letters: what a rank brings to a collective.
    pub(crate) mail: Vec<(Key, Peer, Vec<u64>)>,
    pub(crate) met: BTreeSet<Peer>,
    pub(crate) lost: BTreeMap<Peer, Failure>,
    pub(crate) starved: BTreeSet<(Peer, usize)>,
    pub(crate) is_dead: bool,
}

/// The boxes of all ranks.
#[derive(Debug, Default)]
pub struct Boxes {
    /// By sender, receiver and lane.
    pub(crate) lanes: BTreeMap<(Peer, Peer, usize), VecDeque<Packet>>,
    ranks: Vec<Rank>,
}

impl Boxes {
    /// Empty boxes of so many ranks.
    pub fn new(count: u32) -> Arc<Mutex<Self>> {
        let ranks = (0..count).map(|_| Rank::default()).collect();
        Arc::new(Mutex::new(Self { ranks, ..Self::default() }))
    }

    pub(crate) fn rank(&mut self, peer: Peer) -> &mut Rank {
        &mut self.ranks[peer.0 as usize]
    }

    pub(crate) fn lane(&mut self, from: Peer, to: Peer, lane: usize) -> &mut VecDeque<Packet> {
        self.lanes.entry((from, to, lane)).or_default()
    }

    /// Wakes the rank, whatever it waits for: packets of the engine and letters of Mini ring the same bell.
    pub(crate) fn wake(&mut self, peer: Peer) {
        self.rank(peer).wake.iter().for_each(WakeHandle::wake);
    }

    /// `at` loses `peer`: bodies under way go back to whose they are, then comes one report (C4, C7).
    pub(crate) fn lose(&mut self, at: Peer, peer: Peer, kind: FailureKind, detail: &str) {
        self.empty(at, peer);
        self.empty(peer, at);
        let failure = Failure { kind, detail: detail.to_owned() };
        let rank = self.rank(at);
        rank.starved.retain(|(to, _)| *to != peer);
        if rank.lost.insert(peer, failure.clone()).is_none() {
            rank.notices.push(Notice::Failed(peer, failure));
        }
        self.wake(at);
    }

    /// Takes all packets out of a direction.
    pub(crate) fn empty(&mut self, from: Peer, to: Peer) {
        for lane in 0..2 {
            let bodies = std::mem::take(self.lane(from, to, lane)).into_iter().filter_map(|packet| packet.1);
            self.rank(from).notices.extend(bodies.map(|(_, token)| Notice::Sent(token)));
        }
        self.wake(from);
    }

    /// The lanes of a rank that were full and are not any more.
    pub(crate) fn roomy(&mut self, me: Peer) -> Vec<(Peer, usize)> {
        let starved = self.rank(me).starved.clone();
        starved.into_iter().filter(|(to, lane)| self.lane(me, *to, *lane).len() < LANE_PACKETS).collect()
    }

    /// Whether a poll of the rank's channel would do anything.
    pub(crate) fn has_work(&mut self, me: Peer) -> bool {
        let has_packets = self.lanes.iter().any(|((_, to, _), lane)| *to == me && !lane.is_empty());
        has_packets || !self.rank(me).notices.is_empty() || !self.roomy(me).is_empty()
    }
}
