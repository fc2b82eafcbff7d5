//! What was committed and has not arrived: the truth that every arrival is checked against.
//!
//! Shared by all ranks of a world, also across threads. Senders note a packet just before they commit it, so a receiver
//! always finds it here.

use super::memory::Shape;
use crate::channel::Lane;
use crate::ids::Peer;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One direction of one lane of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Stream {
    pub(super) from: Peer,
    pub(super) to: Peer,
    pub(super) response: bool,
}

/// A packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    /// Names the packet's bytes.
    pub(super) seed: u64,
    /// Length of the small packet, or of the bulk head.
    pub(super) len: usize,
    /// Length of the bulk body and how the receiver wants it; `None` for a small packet.
    pub(super) body: Option<(usize, Shape)>,
}

/// The packets on their way in one world.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger(Arc<Mutex<BTreeMap<Stream, Row>>>);

#[derive(Debug, Default)]
struct Row {
    committed: u64,
    waiting: VecDeque<Expected>,
}

impl Stream {
    pub(super) fn new(from: Peer, to: Peer, lane: Lane) -> Self {
        Self { from, to, response: lane == Lane::Response }
    }
}

impl Ledger {
    /// The seed of the next packet of a stream.
    pub(super) fn next_seed(&self, stream: Stream) -> u64 {
        let number = self.lock().get(&stream).map_or(0, |row| row.committed);
        let pair =
            u64::from(stream.from.0) << 40 | u64::from(stream.to.0) << 24 | u64::from(stream.response) << 63;
        pair ^ number.wrapping_mul(0x1234_5677)
    }

    /// Notes a packet that is about to be committed.
    pub(super) fn commit(&self, stream: Stream, expected: Expected) {
        let mut rows = self.lock();
        let row = rows.entry(stream).or_default();
        row.committed += 1;
        row.waiting.push_back(expected);
    }

    /// Takes back the last packet of a stream, which the channel did not accept after all.
    pub(super) fn revoke(&self, stream: Stream) {
        if let Some(row) = self.lock().get_mut(&stream) {
            row.committed -= 1;
            row.waiting.pop_back();
        }
    }

    /// The packet that must arrive next.
    pub(super) fn first(&self, stream: Stream) -> Option<Expected> {
        self.lock().get(&stream)?.waiting.front().copied()
    }

    /// Strikes out the packet that arrived.
    pub(super) fn arrived(&self, stream: Stream) {
        if let Some(row) = self.lock().get_mut(&stream) {
            row.waiting.pop_front();
        }
    }

    /// Number of packets on their way that match.
    pub(super) fn on_their_way(&self, matches: impl Fn(Stream) -> bool) -> usize {
        self.lock().iter().filter(|(stream, _)| matches(**stream)).map(|(_, row)| row.waiting.len()).sum()
    }

    /// Forgets the packets of and for a peer that is dead.
    pub(super) fn forget(&self, peer: Peer) {
        self.lock().retain(|stream, _| stream.from != peer && stream.to != peer);
    }

    /// Which rank waits for what, a line each.
    pub(super) fn report(&self) -> String {
        let mut text = String::new();
        for (stream, row) in self.lock().iter().filter(|(_, row)| !row.waiting.is_empty()) {
            let lane = if stream.response { "response" } else { "request" };
            let first = row.committed - row.waiting.len() as u64;
            let _ = write!(
                text,
                "\n  rank {} waits for {} packets of rank {} in the {lane} lane, from number {first} on: {:?}",
                stream.to,
                row.waiting.len(),
                stream.from,
                row.waiting[0]
            );
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Stream, Row>> {
        // A test that panics elsewhere is reported there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
