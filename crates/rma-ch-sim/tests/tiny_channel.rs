//! The channel of `docs/writing-a-channel.md`: the least that keeps the contract, all state under one lock.
//!
//! Every Rust block of that page stands in this file, and a test holds them together.

use rma_core::channel::conformance::Fixture;
use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Delivery, Failure, FailureKind, Lane,
    Placement, Polled, Room, Sink, Source, Usage,
};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use rma_core::poller::{Registrar, WakeHandle};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const LANE_PACKETS: usize = 4;
const MAX_PACKET: usize = 256;

struct TinyChannel {
    me: Peer,
    net: Arc<Mutex<Net>>,
    reservation: Option<(Peer, Lane, usize, Vec<u8>)>,
    turn: usize,
}

struct Net {
    /// Packets under way: from, to, lane.
    lanes: BTreeMap<(Peer, Peer, usize), VecDeque<Parcel>>,
    ends: Vec<End>,
}

struct Parcel {
    bytes: Vec<u8>,
    /// The body of a bulk, still in the sender's memory.
    body: Option<(Gather, BulkToken)>,
}

/// What one rank will learn at its next poll, and how to wake it.
#[derive(Default)]
struct End {
    wake: Option<WakeHandle>,
    contacts: BTreeSet<Peer>,
    sent: Vec<BulkToken>,
    starved: BTreeSet<(Peer, usize)>,
    reports: Vec<(Peer, Failure)>,
    failed: BTreeMap<Peer, Failure>,
    is_dead: bool,
    has_closed: bool,
}

impl Net {
    fn wake(&self, peer: Peer) {
        if let Some(wake) = &self.end(peer).wake {
            wake.wake();
        }
    }

    fn end(&self, peer: Peer) -> &End {
        &self.ends[peer.0 as usize]
    }

    fn end_mut(&mut self, peer: Peer) -> &mut End {
        &mut self.ends[peer.0 as usize]
    }

    fn lane(&mut self, from: Peer, to: Peer, lane: usize) -> &mut VecDeque<Parcel> {
        self.lanes.entry((from, to, lane)).or_default()
    }

    /// Ends one direction: what `from` lent comes back to it, and nothing that follows a lost body arrives.
    fn cut(&mut self, from: Peer, to: Peer, keeps_small: bool) {
        for lane in 0..2 {
            let queue = self.lane(from, to, lane);
            let kept = if keeps_small { queue.iter().take_while(|p| p.body.is_none()).count() } else { 0 };
            let tokens: Vec<_> = queue.drain(kept..).filter_map(|p| p.body.map(|(_, token)| token)).collect();
            self.end_mut(from).sent.extend(tokens);
        }
    }

    fn fail(&mut self, at: Peer, peer: Peer, kind: FailureKind, detail: String) {
        let failure = Failure { kind, detail };
        let end = self.end_mut(at);
        if let Entry::Vacant(first) = end.failed.entry(peer) {
            first.insert(failure.clone());
            end.reports.push((peer, failure));
        }
        self.wake(at);
    }

    fn has_work(&self, me: Peer) -> bool {
        let end = self.end(me);
        let has_packets = self.lanes.iter().any(|((_, to, _), queue)| *to == me && !queue.is_empty());
        has_packets || !end.sent.is_empty() || !end.reports.is_empty() || self.room_news(me).next().is_some()
    }

    /// The starved lanes that have room again.
    fn room_news(&self, me: Peer) -> impl Iterator<Item = (Peer, usize)> {
        let has_room = move |(to, lane): &(Peer, usize)| {
            self.lanes.get(&(me, *to, *lane)).is_none_or(|queue| queue.len() < LANE_PACKETS)
        };
        self.end(me).starved.iter().copied().filter(has_room)
    }
}

impl TinyChannel {
    fn net(&self) -> MutexGuard<'_, Net> {
        // A panic of one rank's test is reported there.
        self.net.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn room(&mut self, peer: Peer, lane: Lane) -> Result<Room, Failure> {
        let me = self.me;
        let mut net = self.net();
        if net.end(peer).is_dead {
            net.fail(me, peer, FailureKind::Dead, format!("rank {peer} is dead"));
        }
        if let Some(failure) = net.end(me).failed.get(&peer) {
            return Err(failure.clone());
        }
        net.end_mut(me).contacts.insert(peer);
        net.end_mut(peer).contacts.insert(me);
        if net.lane(me, peer, lane as usize).len() < LANE_PACKETS {
            return Ok(Room::Granted);
        }
        net.end_mut(me).starved.insert((peer, lane as usize));
        Ok(Room::Full)
    }

    fn push(&mut self, to: Peer, lane: Lane, parcel: Parcel) {
        let mut net = self.net();
        net.lane(self.me, to, lane as usize).push_back(parcel);
        net.wake(to);
    }

    /// Hands over the first packet of a lane.
    fn deliver(&self, net: &mut Net, from: Peer, lane: Lane, sink: &mut dyn Sink) -> Option<usize> {
        let parcel = net.lane(from, self.me, lane as usize).pop_front()?;
        let len = parcel.bytes.len();
        let refused = match parcel.body {
            None => match sink.packet(from, lane, &parcel.bytes) {
                Delivery::Accepted => None,
                Delivery::Refused(reason) => Some(reason),
            },
            Some((mut body, token)) => {
                let refused = match sink.bulk(from, lane, &parcel.bytes, body.remaining()) {
                    Placement::Into(target) => {
                        place(&mut body, target);
                        sink.bulk_received(from, lane);
                        None
                    }
                    Placement::Refused(reason) => Some(reason),
                };
                net.end_mut(from).sent.push(token);
                refused
            }
        };
        if let Some(reason) = refused {
            net.cut(from, self.me, false);
            net.cut(self.me, from, false);
            net.fail(
                self.me,
                from,
                FailureKind::Protocol,
                format!("rank {from} sent no packet of ours: {reason}"),
            );
            net.fail(from, self.me, FailureKind::Protocol, format!("rank {} refused a packet", self.me));
        }
        net.wake(from);
        Some(len)
    }
}

/// Copies a body to where the engine wants it.
fn place(body: &mut Gather, mut target: Scatter) {
    while let Some(span) = target.peek(usize::MAX) {
        let copied = body.copy_to(span);
        target.advance(copied);
    }
}

// SAFETY: bodies are read under the lock alone, from a queue out of which `cut` takes them before `bulk_sent`, `failed`
// or the end of a drop; a placement lives only inside `deliver`.
unsafe impl Channel for TinyChannel {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "tiny", max_packet: MAX_PACKET, bulk_from: 128 }
    }

    fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        self.net().end_mut(self.me).wake = Some(registrar.wake_handle());
        Ok(())
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.room(peer, Lane::Request).map(drop)
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        self.reservation = None;
        let room = self.room(peer, lane)?;
        if room == Room::Granted {
            self.reservation = Some((peer, lane, len, Vec::with_capacity(len)));
        }
        Ok(room)
    }

    fn fill(&mut self, source: Source<'_>) {
        let (_, _, len, bytes) = self.reservation.as_mut().expect("fill needs a reservation");
        let begin = bytes.len();
        assert!(source.len() <= *len - begin, "more bytes than reserved");
        bytes.resize(begin + source.len(), 0);
        match source {
            Source::Bytes(from) => bytes[begin..].copy_from_slice(from),
            Source::Memory(gather) => gather.read(&mut bytes[begin..]),
        }
    }

    fn commit(&mut self) {
        let (to, lane, len, bytes) = self.reservation.take().expect("commit needs a reservation");
        assert_eq!(bytes.len(), len, "filled to its length");
        self.push(to, lane, Parcel { bytes, body: None });
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        self.reservation = None;
        let room = self.room(peer, lane)?;
        if room == Room::Granted {
            self.push(peer, lane, Parcel { bytes: head.to_vec(), body: Some((body, token)) });
        }
        Ok(room)
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        self.reservation = None;
        let (me, mut polled, mut bytes) = (self.me, Polled::default(), 0);
        let mut guard = self.net();
        let net = &mut *guard;
        for token in std::mem::take(&mut net.end_mut(me).sent) {
            sink.bulk_sent(token);
            polled.moved = true;
        }
        for (peer, lane) in net.room_news(me).collect::<Vec<_>>() {
            net.end_mut(me).starved.remove(&(peer, lane));
            sink.writable(peer, Lane::ALL[lane]);
            polled.moved = true;
        }
        // One packet of each lane in turn, and another lane first in every poll.
        let mut streams: Vec<_> = net.lanes.keys().copied().filter(|(_, to, _)| *to == me).collect();
        let turn = self.turn.checked_rem(streams.len()).unwrap_or(0);
        streams.rotate_left(turn);
        let mut got_any = true;
        while got_any {
            got_any = false;
            for (from, _, lane) in &streams {
                if polled.packets == budget.packets || bytes >= budget.bytes {
                    break;
                }
                if let Some(len) = self.deliver(net, *from, Lane::ALL[*lane], sink) {
                    polled.packets += 1;
                    bytes += len;
                    got_any = true;
                }
            }
        }
        polled.more = streams.iter().any(|stream| net.lanes.get(stream).is_some_and(|q| !q.is_empty()));
        // What came back just now goes out before the reports of failure.
        for token in std::mem::take(&mut net.end_mut(me).sent) {
            sink.bulk_sent(token);
            polled.moved = true;
        }
        for (peer, failure) in std::mem::take(&mut net.end_mut(me).reports) {
            if (0..2).all(|lane| net.lane(peer, me, lane).is_empty()) {
                net.end_mut(me).starved.retain(|(to, _)| *to != peer);
                sink.failed(peer, failure);
                polled.moved = true;
            } else {
                net.end_mut(me).reports.push((peer, failure));
            }
        }
        drop(guard);
        self.turn += 1;
        polled
    }

    fn arm(&mut self) -> Armed {
        // Everything that `poll` acts on is changed under the lock and followed by a wake, so what comes after this look
        // wakes the sleeper, and what came before it is seen.
        if self.net().has_work(self.me) { Armed::Busy } else { Armed::Sleep }
    }

    fn close(&mut self) -> Closing {
        let mut net = self.net();
        let is_lent =
            net.lanes.iter().any(|((from, ..), q)| *from == self.me && q.iter().any(|p| p.body.is_some()));
        if is_lent || !net.end(self.me).sent.is_empty() {
            return Closing::Pending;
        }
        net.end_mut(self.me).has_closed = true;
        Closing::Closed
    }

    fn usage(&self) -> Usage {
        let net = self.net();
        let peers = net.end(self.me).contacts.len();
        let queues = net.lanes.iter().filter(|((from, ..), _)| *from == self.me);
        Usage {
            peers,
            bytes: queues.flat_map(|(_, queue)| queue).map(|parcel| parcel.bytes.len()).sum(),
            limit_bytes: peers * 2 * LANE_PACKETS * MAX_PACKET,
        }
    }
}

impl Drop for TinyChannel {
    fn drop(&mut self) {
        let me = self.me;
        let mut net = self.net();
        let has_closed = net.end(me).has_closed;
        net.end_mut(me).is_dead = !has_closed;
        for peer in net.end(me).contacts.clone() {
            // Bodies that are lent come back now; bodies of others can no longer arrive.
            net.cut(me, peer, true);
            net.cut(peer, me, false);
            if has_closed {
                net.wake(peer);
            } else {
                net.fail(peer, me, FailureKind::Dead, format!("rank {me} is dead"));
            }
        }
    }
}

struct Tiny;

impl Fixture for Tiny {
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
        let ends = (0..count).map(|_| End::default()).collect();
        let net = Arc::new(Mutex::new(Net { lanes: BTreeMap::new(), ends }));
        let channel = |me| TinyChannel { me: Peer(me), net: Arc::clone(&net), reservation: None, turn: 0 };
        (0..count).map(|me| Box::new(channel(me)) as Box<dyn Channel>).collect()
    }

    fn largest_body(&self) -> usize {
        100_000
    }
}

mod tiny {
    use super::*;
    rma_core::channel_conformance!(Tiny);
}

/// Lines without their indentation, so that a block of the page may be shifted.
fn squeezed(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_page_shows_this_code() {
    let page = include_str!("../../../docs/writing-a-channel.md");
    let this = squeezed(include_str!("tiny_channel.rs"));
    // A program with a channel in the registry.
    let program = squeezed(include_str!("../../rma/tests/programs/world.rs"));
    let blocks: Vec<&str> =
        page.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(blocks.len() >= 5, "the page lost its code");
    for block in blocks {
        let block = squeezed(block);
        assert!(
            this.contains(&block) || program.contains(&block),
            "the page shows code that is in no test:\n{block}"
        );
    }
}
