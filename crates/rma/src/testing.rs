//! A network of messengers in one thread, for tests: which queue moves next is drawn from a seed, queues are short, bulk
//! bodies arrive piece by piece, and peers can be lost. What goes wrong with a seed goes wrong with it again.

use crate::message::{MessageConfig, MessageUpper, Messenger, Scope};
use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Delivery, Failure, FailureKind, Lane,
    Placement, Polled, Room, Sink, Source, Usage,
};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use rma_core::mem::ReadSpan;
use rma_core::poller::Registrar;
use rma_core::progress::Upper;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;

/// A simple generator (splitmix64): good enough to choose, and the same everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

pub(crate) type QueueName = (u32, u32, Lane);

enum Item {
    Small(Vec<u8>),
    Bulk(Box<Bulk>),
}

struct Bulk {
    head: Vec<u8>,
    body: Gather,
    token: BulkToken,
    into: Option<Scatter>,
}

/// The network.
pub(crate) struct Net {
    pub(crate) messengers: Vec<Messenger>,
    /// Packets handed over so far, by sender.
    pub(crate) packets: Vec<usize>,
    uppers: Vec<MessageUpper>,
    wire: Wire,
    dice: Dice,
    lost: HashSet<u32>,
}

struct Wire {
    queues: HashMap<QueueName, VecDeque<Item>>,
    depth: usize,
    max_packet: usize,
    lost: HashSet<u32>,
    /// Processes that were killed, heard of or not: what is sent to them goes nowhere.
    killed: HashSet<u32>,
    /// Pairs of a process and a killed one that its channel has found gone.
    cut: HashSet<(u32, u32)>,
}

/// One process's end, for the time of one call.
struct Port<'a> {
    me: u32,
    wire: &'a mut Wire,
    reserved: Option<(QueueName, usize, Vec<u8>)>,
}

impl Net {
    /// `size` messengers; at most `depth` packets of at most `max_packet` bytes lie in a queue.
    pub(crate) fn new(size: u32, config: &MessageConfig, depth: usize, max_packet: usize, seed: u64) -> Self {
        let messengers: Vec<_> = (0..size).map(|me| Messenger::new(Peer(me), size, config)).collect();
        Self {
            uppers: messengers.iter().map(Messenger::upper).collect(),
            packets: vec![0; size as usize],
            messengers,
            wire: Wire {
                queues: HashMap::new(),
                depth,
                max_packet,
                lost: HashSet::new(),
                killed: HashSet::new(),
                cut: HashSet::new(),
            },
            dice: Dice::new(seed),
            lost: HashSet::new(),
        }
    }

    /// Moves something, if anything can move.
    pub(crate) fn step(&mut self) -> bool {
        let size = self.uppers.len();
        let first = self.dice.below(size);
        let mut moved = false;
        for i in 0..1 + self.dice.below(size) {
            moved |= self.advance(((first + i) % size) as u32);
        }
        let names = self.pending();
        if !names.is_empty() {
            let name = names[self.dice.below(names.len())];
            self.deliver(name);
            moved = true;
        }
        moved || (0..size as u32).any(|rank| self.advance(rank))
    }

    /// The queues that hold something.
    pub(crate) fn pending(&self) -> Vec<QueueName> {
        let held = self.wire.queues.iter().filter(|(_, queue)| !queue.is_empty());
        let mut names: Vec<_> = held.map(|(name, _)| *name).collect();
        names.sort_unstable_by_key(|(from, to, lane)| (*from, *to, *lane as u8));
        names
    }

    /// How often something has happened at a process that its collectives may wait for.
    pub(crate) fn events(&self, me: u32) -> u64 {
        self.uppers[me as usize].events()
    }

    /// Whether a process has something to send, or to do at its next step.
    pub(crate) fn is_active(&self, me: u32) -> bool {
        let upper = &self.uppers[me as usize];
        upper.is_active() || upper.is_due()
    }

    /// Kills a process, of whose last packets each queue still brings a drawn part. No process hears of it before [`Net::cut`] or
    /// another teller.
    pub(crate) fn kill(&mut self, victim: u32) {
        self.lost.insert(victim);
        self.wire.killed.insert(victim);
        self.wire.queues.retain(|(_, to, _), _| *to != victim);
        for name in self.pending().into_iter().filter(|(from, ..)| *from == victim) {
            let queue = self.wire.queues.get_mut(&name).expect("it holds something");
            let left = self.dice.below(queue.len() + 1);
            queue.truncate(left);
        }
    }

    /// The channel of a process finds that one which was killed is gone, behind what that one has sent.
    pub(crate) fn cut(&mut self, me: u32, victim: u32) {
        self.wire.cut.insert((me, victim));
        let failure = Failure { kind: FailureKind::Dead, detail: "its process is gone".to_owned() };
        self.uppers[me as usize].failed(Peer(victim), &failure);
    }

    /// Steps until `done`, or panics when nothing moves any more.
    pub(crate) fn run_until(&mut self, mut done: impl FnMut(&Self) -> bool) {
        let mut idle = 0;
        while !done(self) {
            idle = if self.step() { 0 } else { idle + 1 };
            assert!(idle < 3, "nothing moves any more: {:?}", self.messengers);
        }
    }

    /// Loses a peer: what it has sent still arrives, then the others hear of its end.
    pub(crate) fn lose(&mut self, peer: u32) {
        while let Some(name) = {
            let mut names =
                self.wire.queues.iter().filter(|((from, ..), queue)| *from == peer && !queue.is_empty());
            names.next().map(|(name, _)| *name)
        } {
            self.deliver(name);
        }
        self.lost.insert(peer);
        self.wire.lost.insert(peer);
        let failure = Failure { kind: FailureKind::Dead, detail: "its process is gone".to_owned() };
        let to_it: Vec<_> = self.wire.queues.keys().filter(|(_, to, _)| *to == peer).copied().collect();
        for name in to_it {
            for item in self.wire.queues.remove(&name).unwrap_or_default() {
                if let Item::Bulk(bulk) = item {
                    self.uppers[name.0 as usize].bulk_sent(bulk.token);
                }
            }
        }
        for (rank, upper) in self.uppers.iter_mut().enumerate() {
            if !self.lost.contains(&(rank as u32)) {
                upper.failed(Peer(peer), &failure);
            }
        }
    }

    /// Sends a short message at once, if that can be.
    pub(crate) fn try_send(&mut self, from: u32, to: u32, scope: Scope, tag: u64, message: &[u8]) -> bool {
        // SAFETY: the message is borrowed during the call.
        let span = unsafe { ReadSpan::new(message.as_ptr(), message.len()) };
        let mut port = Port { me: from, wire: &mut self.wire, reserved: None };
        let messenger = &self.messengers[from as usize];
        messenger.try_send(Peer(to), scope, tag, span, &mut port)
    }

    /// Hands a process any packet, as a channel would.
    pub(crate) fn inject(&mut self, from: u32, to: u32, lane: Lane, bytes: &[u8]) -> Delivery {
        self.uppers[to as usize].packet(Peer(from), lane, bytes)
    }

    /// Hands a process the head of any bulk packet.
    pub(crate) fn inject_bulk(&mut self, from: u32, to: u32, head: &[u8], len: u64) -> Placement {
        self.uppers[to as usize].bulk(Peer(from), Lane::Request, head, len)
    }

    pub(crate) fn advance(&mut self, me: u32) -> bool {
        if self.lost.contains(&me) {
            return false;
        }
        self.uppers[me as usize].advance(&mut Port { me, wire: &mut self.wire, reserved: None })
    }

    pub(crate) fn deliver(&mut self, name: QueueName) {
        let (from, to, lane) = name;
        let queue = self.wire.queues.get_mut(&name).unwrap();
        let upper = &mut self.uppers[to as usize];
        match queue.front_mut().unwrap() {
            Item::Small(bytes) => {
                assert_eq!(upper.packet(Peer(from), lane, bytes), Delivery::Accepted);
                queue.pop_front();
                self.packets[from as usize] += 1;
            }
            Item::Bulk(bulk) => {
                let Bulk { head, body, token, into } = &mut **bulk;
                if into.is_none() {
                    match upper.bulk(Peer(from), lane, head, body.remaining()) {
                        Placement::Into(scatter) => *into = Some(scatter),
                        Placement::Refused(reason) => panic!("{reason}"),
                    }
                }
                let scatter = into.as_mut().unwrap();
                assert_eq!(scatter.remaining(), body.remaining());
                let mut piece = vec![0; (1 + self.dice.below(300)).min(body.remaining() as usize)];
                body.read(&mut piece);
                scatter.write(&piece);
                if body.remaining() == 0 {
                    let token = *token;
                    queue.pop_front();
                    upper.bulk_received(Peer(from), lane);
                    self.uppers[from as usize].bulk_sent(token);
                    self.packets[from as usize] += 1;
                }
            }
        }
    }
}

impl Port<'_> {
    fn check(&self, peer: Peer) -> Result<(), Failure> {
        match self.wire.lost.contains(&peer.0) || self.wire.cut.contains(&(self.me, peer.0)) {
            true => Err(Failure { kind: FailureKind::Dead, detail: "its process is gone".to_owned() }),
            false => Ok(()),
        }
    }

    fn is_full(&self, name: QueueName) -> bool {
        self.wire.queues.get(&name).is_some_and(|queue| queue.len() >= self.wire.depth)
    }
}

// SAFETY: bodies are read only until `bulk_sent`, and placements written only until `bulk_received` or `failed`, both of
// which `Net` calls.
unsafe impl Channel for Port<'_> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "test", max_packet: self.wire.max_packet, bulk_from: 1 }
    }

    fn register(&mut self, _: &Registrar) -> io::Result<()> {
        Ok(())
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.check(peer)
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        assert!(peer.0 != self.me && len > 0 && len <= self.wire.max_packet, "{len} bytes to {peer}");
        self.check(peer)?;
        let name = (self.me, peer.0, lane);
        if self.is_full(name) {
            return Ok(Room::Full);
        }
        self.reserved = Some((name, len, Vec::new()));
        Ok(Room::Granted)
    }

    fn fill(&mut self, source: Source<'_>) {
        let (_, _, bytes) = self.reserved.as_mut().unwrap();
        match source {
            Source::Bytes(more) => bytes.extend_from_slice(more),
            Source::Memory(gather) => {
                let mut more = vec![0; gather.remaining() as usize];
                gather.read(&mut more);
                bytes.extend_from_slice(&more);
            }
        }
    }

    fn commit(&mut self) {
        let (name, len, bytes) = self.reserved.take().unwrap();
        assert_eq!(bytes.len(), len);
        if self.wire.killed.contains(&name.1) {
            return;
        }
        self.wire.queues.entry(name).or_default().push_back(Item::Small(bytes));
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        assert!(!head.is_empty() && head.len() <= self.wire.max_packet && body.remaining() > 0);
        self.check(peer)?;
        let name = (self.me, peer.0, lane);
        if self.is_full(name) {
            return Ok(Room::Full);
        }
        let item = Item::Bulk(Box::new(Bulk { head: head.to_vec(), body, token, into: None }));
        self.wire.queues.entry(name).or_default().push_back(item);
        Ok(Room::Granted)
    }

    fn poll(&mut self, _: &mut dyn Sink, _: Budget) -> Polled {
        Polled::default()
    }

    fn arm(&mut self) -> Armed {
        Armed::Busy
    }

    fn close(&mut self) -> Closing {
        Closing::Closed
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}
