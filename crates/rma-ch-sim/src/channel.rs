//! The channel of one rank.
//!
//! A poll looks at lively connections only: those that were rung, until nothing is left to look at there. A peer
//! that gives a rank something to look at does so before it rings, so a connection that has become idle is rung again, or was
//! not idle.
//! Of many lively connections a poll looks at some, and the next poll at those that follow. So neither the ranks ever
//! in contact nor those that wait to be heard make a poll dearer, and a job of 10⁵ ranks can send to one.
//!
//! Invariants of the contract that are kept here: the budget (C5), the order "prepare to sleep, then look" (C6), and that a channel that
//! is dropped takes back every body before the drop returns (C4). The rest is kept by [`Connection`].

use crate::connection::{Connection, Received};
use crate::exposed::{Buffer, Exposed};
use crate::hub::Hub;
use crate::pair::SideState;
use crate::time::Time;
use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Exposure, Failure, Issued, Lane, Polled,
    RemoteKey, RemoteMemory, RemotePlace, Room, Sink, Source, TransferLimits, TransferToken, Usage,
    Withdrawal,
};
use rma_core::datatype::Gather;
use rma_core::ids::Peer;
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::poller::Registrar;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

/// The channel of one rank of a [`SimNet`](crate::SimNet).
#[derive(Debug)]
pub struct SimChannel {
    hub: Arc<Hub>,
    me: Peer,
    connections: Vec<Connection>,
    by_peer: HashMap<Peer, usize>,
    lively: Lively,
    reservation: Option<Reservation>,
    /// Which lane of which connection a poll looks at first, for packets and for bodies.
    packet_turn: usize,
    body_turn: usize,
    /// Where the next poll begins to look when it cannot look everywhere.
    look_from: usize,
    is_closing: bool,
    /// Buffers that transfers were asked for with.
    buffers: u64,
}

/// The connections to look at.
#[derive(Debug, Default)]
struct Lively {
    /// In ascending order.
    indices: BTreeSet<usize>,
    /// Kept for its memory.
    news: Vec<Peer>,
    /// Those that this poll looks at, in the order of their turns. Kept for its memory.
    looks: Vec<usize>,
}

/// Most connections that one poll looks at.
const MOST_LOOKS: usize = 256;

#[derive(Debug)]
struct Reservation {
    connection: usize,
    lane: Lane,
    len: usize,
    bytes: Vec<u8>,
}

impl SimChannel {
    pub(crate) fn new(hub: Arc<Hub>, me: Peer) -> Self {
        Self {
            hub,
            me,
            connections: Vec::new(),
            by_peer: HashMap::new(),
            lively: Lively::default(),
            reservation: None,
            packet_turn: 0,
            body_turn: 0,
            look_from: 0,
            is_closing: false,
            buffers: 0,
        }
    }

    fn connection(&mut self, peer: Peer) -> usize {
        if let Some(index) = self.by_peer.get(&peer) {
            return *index;
        }
        let connection = match self.hub.connect(self.me, peer) {
            Ok(pair) => Connection::new(self.me, pair),
            Err(failure) => Connection::doomed(self.me, peer, failure, &self.hub),
        };
        self.add(connection)
    }

    fn add(&mut self, connection: Connection) -> usize {
        let index = self.connections.len();
        self.by_peer.insert(connection.peer, index);
        self.connections.push(connection);
        self.lively.indices.insert(index);
        index
    }

    /// Adds the connections whose peers have rung. One that is not there yet is lively when it is accepted.
    fn hear(&mut self) {
        let Lively { indices, news, .. } = &mut self.lively;
        self.hub.take_news(self.me, news);
        indices.extend(news.drain(..).filter_map(|peer| self.by_peer.get(&peer)));
    }

    /// Breaks the connections that the network has cut. A peer that was never in contact is not lost before it is wanted.
    fn break_off(&mut self) {
        for peer in self.hub.cut_from(self.me) {
            if let Some(index) = self.by_peer.get(&peer) {
                self.connections[*index].cut(&self.hub);
            }
        }
    }

    /// Forgets the idle ones of those looked at.
    fn forget_idle(&mut self) {
        let Lively { indices, looks, .. } = &mut self.lively;
        for index in looks.drain(..).filter(|index| self.connections[*index].is_idle()) {
            indices.remove(&index);
        }
    }

    /// Decides which connections this poll looks at; answers whether there are others.
    fn choose(&mut self) -> bool {
        let Lively { indices, looks, .. } = &mut self.lively;
        let has_many = indices.len() > MOST_LOOKS;
        let first = if has_many { self.look_from } else { 0 };
        looks.extend(indices.range(first..).chain(indices.range(..first)).take(MOST_LOOKS));
        has_many
    }

    fn accept(&mut self) -> bool {
        let mut moved = false;
        for pair in self.hub.accept(self.me) {
            let peer = pair.ends[1 - pair.side(self.me)];
            if !self.by_peer.contains_key(&peer) {
                self.add(Connection::new(self.me, pair));
                moved = true;
            }
        }
        moved
    }

    /// Hands over packets, one per connection and lane in turn, until nothing is left or the budget is used up. The next
    /// poll begins where this one had to stop, so no lane waits for ever behind a busy one.
    fn receive(&mut self, sink: &mut dyn Sink, left: &mut Budget) -> u32 {
        let before = left.packets;
        let turns = self.lively.turns_from(self.packet_turn);
        let (mut empty_turns, mut next) = (0, 0);
        while empty_turns < turns.len() && !is_used_up(*left) {
            let turn = turns[next];
            next = (next + 1) % turns.len();
            match self.connections[turn / 2].receive(&self.hub, Lane::ALL[turn % 2], sink) {
                Received::Nothing => empty_turns += 1,
                Received::Packet { bytes } => {
                    empty_turns = 0;
                    self.packet_turn = self.turn_after(turn);
                    left.packets -= 1;
                    left.bytes = left.bytes.saturating_sub(bytes);
                }
            }
        }
        before - left.packets
    }

    /// Moves bodies into place, one step each in turn, at least one, and none after `bytes` have been moved. The budget
    /// limits what is begun; what is under way goes on beside packets of other lanes.
    fn place_bodies(&mut self, sink: &mut dyn Sink, bytes: usize) -> bool {
        let mut moved = 0;
        for turn in self.lively.turns_from(self.body_turn) {
            moved += self.connections[turn / 2].place_body(&self.hub, Lane::ALL[turn % 2], sink);
            if moved >= bytes.max(1) {
                self.body_turn = self.turn_after(turn);
                break;
            }
        }
        moved > 0
    }

    fn turn_after(&self, turn: usize) -> usize {
        (turn + 1) % (2 * self.connections.len())
    }

    fn has_packets(&mut self) -> bool {
        let Self { hub, lively, connections, .. } = self;
        let has_packet = |c: &mut Connection| Lane::ALL.into_iter().any(|lane| c.has_packet(hub, lane));
        lively.indices.iter().any(|index| has_packet(&mut connections[*index]))
    }

    fn has_work(&mut self) -> bool {
        self.hear();
        self.break_off();
        let Self { hub, lively, connections, .. } = self;
        hub.has_incoming(self.me) || lively.indices.iter().any(|index| connections[*index].has_work(hub))
    }

    fn check_len(&self, what: &str, len: usize) {
        let max = self.hub.config.max_packet as usize;
        assert!((1..=max).contains(&len), "a {what} of {len} bytes; 1 to {max} are possible");
    }
}

fn is_used_up(budget: Budget) -> bool {
    budget.packets == 0 || budget.bytes == 0
}

impl Lively {
    /// All lanes of the connections looked at once, each as twice its connection's index and the lane's, from `first` on and
    /// around; many of them as they were chosen, when that is none of them.
    fn turns_from(&self, first: usize) -> Vec<usize> {
        let turns = |index: &usize| [2 * index, 2 * index + 1];
        let mut turns = self.looks.iter().flat_map(turns).collect::<Vec<_>>();
        let before = if self.indices.len() <= MOST_LOOKS {
            turns.partition_point(|turn| *turn < first)
        } else {
            turns.iter().position(|turn| *turn == first).unwrap_or(0)
        };
        turns.rotate_left(before);
        turns
    }
}

// SAFETY: bodies are read through `pair::Body`, which is revoked before `bulk_sent`, `failed`, and the end of a drop, and
// only by the receiver's poll; placements are written by this rank's poll alone, and forgotten before `bulk_received` and
// `failed`.
unsafe impl Channel for SimChannel {
    fn capabilities(&self) -> Capabilities {
        let max_packet = self.hub.config.max_packet as usize;
        Capabilities {
            name: "sim",
            max_packet,
            bulk_from: (self.hub.config.bulk_from as usize).min(max_packet),
        }
    }

    fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        self.hub.bell(self.me).connect(registrar.wake_handle());
        Ok(())
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        let index = self.connection(peer);
        self.connections[index].check()
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        self.check_len("packet", len);
        self.reservation = None;
        let connection = self.connection(peer);
        self.connections[connection].check()?;
        let room = self.connections[connection].room(lane);
        if room == Room::Granted {
            self.reservation = Some(Reservation { connection, lane, len, bytes: Vec::with_capacity(len) });
        }
        Ok(room)
    }

    fn fill(&mut self, source: Source<'_>) {
        let reservation = self.reservation.as_mut().expect("fill needs a reservation");
        let (old, new) = (reservation.bytes.len(), reservation.bytes.len() + source.len());
        assert!(new <= reservation.len, "{new} bytes filled, {} reserved", reservation.len);
        match source {
            Source::Bytes(bytes) => reservation.bytes.extend_from_slice(bytes),
            Source::Memory(gather) => {
                reservation.bytes.resize(new, 0);
                gather.read(&mut reservation.bytes[old..]);
            }
        }
    }

    fn commit(&mut self) {
        let Reservation { connection, lane, len, bytes } =
            self.reservation.take().expect("commit needs a reservation");
        assert_eq!(bytes.len(), len, "a packet is committed when it is filled to its length");
        self.connections[connection].push(&self.hub, lane, bytes.into(), None);
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        self.check_len("head", head.len());
        assert!(body.remaining() > 0, "a bulk has a body");
        self.reservation = None;
        let index = self.connection(peer);
        let connection = &mut self.connections[index];
        connection.check()?;
        let room = connection.room(lane);
        if room == Room::Granted {
            connection.push(&self.hub, lane, head.into(), Some((token, body)));
        }
        Ok(room)
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        self.reservation = None;
        if matches!(self.hub.time, Time::Real(_)) {
            self.hub.bell(self.me).rouse();
        }
        // What rings after this is heard by the next poll.
        self.hear();
        let mut polled = Polled { moved: self.accept(), ..Polled::default() };
        self.break_off();
        // A poll that has not looked everywhere has to be repeated.
        polled.moved |= self.choose();
        for index in &self.lively.looks {
            polled.moved |= self.connections[*index].poll_sent(sink);
            polled.moved |= self.connections[*index].poll_transfers(&self.hub, sink);
        }
        let mut left = budget;
        polled.packets = self.receive(sink, &mut left);
        if let Some(last) = self.lively.looks.last().filter(|_| budget.packets > 0) {
            // A connection that was left out for want of budget comes next.
            self.look_from = if is_used_up(left) { self.packet_turn / 2 } else { last + 1 };
        }
        polled.moved |= self.place_bodies(sink, budget.bytes);
        for index in &self.lively.looks {
            polled.moved |= self.connections[*index].poll_end(&self.hub, sink);
        }
        polled.more = is_used_up(left) && self.has_packets();
        self.forget_idle();
        polled
    }

    fn arm(&mut self) -> Armed {
        self.hub.bell(self.me).prepare_sleep();
        if self.has_work() {
            self.hub.bell(self.me).rouse();
            return Armed::Busy;
        }
        Armed::Sleep
    }

    fn close(&mut self) -> Closing {
        self.reservation = None;
        self.is_closing = true;
        let mut closing = Closing::Closed;
        for connection in &self.connections {
            if connection.has_buffers_under_way() {
                closing = Closing::Pending;
            } else {
                connection.say_goodbye(&self.hub);
            }
        }
        closing
    }

    fn transfers(&self, _: Peer) -> Option<TransferLimits> {
        let config = &self.hub.config;
        let (from, longest) = (config.transfer_from as usize, config.transfer_bytes as usize);
        let limits =
            TransferLimits { write_from: from, unacknowledged_from: 2 * from, read_from: from, longest };
        (config.transfers > 0).then_some(limits)
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        (self.hub.config.transfers > 0).then_some(self as &mut dyn RemoteMemory)
    }

    fn usage(&self) -> Usage {
        let config = &self.hub.config;
        let peers = self.connections.iter().filter(|c| !c.is_over()).count();
        Usage {
            peers,
            bytes: self.connections.iter().map(Connection::unread_bytes).sum(),
            limit_bytes: peers * 2 * (config.lane_packets * config.max_packet) as usize,
        }
    }
}

impl SimChannel {
    fn transfer(
        &mut self,
        peer: Peer,
        buffer: Buffer,
        place: RemotePlace,
        token: TransferToken,
    ) -> Result<Issued, Failure> {
        let index = self.connection(peer);
        let connection = &mut self.connections[index];
        connection.check()?;
        self.buffers += 1;
        let refuses = self.hub.config.transfer_refuses;
        if refuses > 0 && self.buffers.is_multiple_of(refuses) {
            return Ok(Issued::Never);
        }
        let issued = connection.transfer(&self.hub, buffer, place, token);
        self.lively.indices.insert(index);
        Ok(issued)
    }
}

// SAFETY: buffers are touched when a transfer is carried out by this rank's poll, right before its answer, and forgotten with the
// connection; exposed memory only under the lock that withdrawing takes.
unsafe impl RemoteMemory for SimChannel {
    unsafe fn expose(&mut self, memory: WriteSpan) -> Result<Exposure, Failure> {
        Ok(Exposure(self.hub.exposed.add(self.me, memory)))
    }

    fn key(&mut self, exposure: Exposure, _: Peer) -> Option<RemoteKey> {
        Some(Exposed::key(exposure.0))
    }

    fn withdraw(&mut self, exposure: Exposure, is_idle: bool) -> Withdrawal {
        if self.hub.exposed.withdraw(exposure.0, is_idle) { Withdrawal::Over } else { Withdrawal::Pending }
    }

    fn write(
        &mut self,
        peer: Peer,
        from: ReadSpan,
        to: RemotePlace,
        token: TransferToken,
    ) -> Result<Issued, Failure> {
        self.transfer(peer, Buffer::Write(from), to, token)
    }

    fn read(
        &mut self,
        peer: Peer,
        into: WriteSpan,
        from: RemotePlace,
        token: TransferToken,
    ) -> Result<Issued, Failure> {
        self.transfer(peer, Buffer::Read(into), from, token)
    }
}

impl Drop for SimChannel {
    fn drop(&mut self) {
        let is_orderly = self.is_closing && !self.connections.iter().any(Connection::has_buffers_under_way);
        let state = if is_orderly { SideState::Left } else { SideState::Dead };
        for pair in self.hub.leave(self.me, state) {
            let peer = pair.ends[1 - pair.side(self.me)];
            if !self.by_peer.contains_key(&peer) {
                self.add(Connection::new(self.me, pair));
            }
        }
        for connection in &mut self.connections {
            connection.leave(&self.hub, state);
        }
        // After all are notified: a transfer that finds nothing is then known to be one of a rank that has
        // left.
        self.hub.exposed.remove_all(self.me);
    }
}
