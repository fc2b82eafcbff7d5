//! One rank of a world: a channel, its recorder, and the calls of the trait wrapped so that each is checked.

use super::ledger::{Expected, Ledger, Stream};
use super::memory::{LentBody, Shape, pattern};
use super::recorder::{Recorder, Transfer};
use crate::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Failure, Issued, Lane, Polled, RemotePlace,
    Room, Source, TransferToken,
};
use crate::ids::Peer;
use crate::poller::Poller;
use std::time::{Duration, Instant};

/// More than any test hands over in one poll.
pub(super) const PLENTY: Budget = Budget { packets: 64, bytes: 1 << 20 };

/// A sleep of this length that ends with work to do is a lost wake-up.
const LOST_AFTER: Duration = Duration::from_secs(4);

/// A rank.
pub(super) struct TestedRank {
    // First, so that it is dropped before the memory that it was lent.
    channel: Option<Box<dyn Channel>>,
    /// What happened here.
    pub(super) recorder: Recorder,
    /// Its number.
    pub(super) me: Peer,
    ledger: Ledger,
    poller: Poller,
    next_token: u64,
    /// How often arming answered "sleep".
    pub(super) sleeps: usize,
}

impl TestedRank {
    /// Registers the channel and wraps it.
    pub(super) fn new(me: Peer, mut channel: Box<dyn Channel>, ledger: Ledger) -> Self {
        let (poller, registrar) = Poller::new();
        channel.register(&registrar).expect("the channel registers with the poller");
        let recorder = Recorder::new(me, ledger.clone());
        Self { channel: Some(channel), recorder, me, ledger, poller, next_token: 1, sleeps: 0 }
    }

    /// The channel itself.
    pub(super) fn channel(&mut self) -> &mut dyn Channel {
        self.channel.as_deref_mut().expect("the test uses no rank that it killed")
    }

    /// Whether the rank lives.
    pub(super) fn is_alive(&self) -> bool {
        self.channel.is_some()
    }

    /// Takes the channel away, for a kill or for its drop.
    pub(super) fn take_channel(&mut self) -> Option<Box<dyn Channel>> {
        self.channel.take()
    }

    /// The channel's capabilities.
    pub(super) fn capabilities(&mut self) -> Capabilities {
        self.channel().capabilities()
    }

    /// Asks for room, fills and commits. `Ok(false)` when the lane is full.
    pub(super) fn offer(&mut self, to: Peer, lane: Lane, len: usize) -> Result<bool, Failure> {
        let room = self.channel().reserve(to, lane, len);
        if self.note_room(to, lane, room)? {
            self.fill_and_commit(to, lane, len);
            return Ok(true);
        }
        Ok(false)
    }

    /// [`TestedRank::offer`] to a peer that must not fail.
    pub(super) fn try_small(&mut self, to: Peer, lane: Lane, len: usize) -> bool {
        self.offer(to, lane, len).unwrap_or_else(|f| panic!("rank {}: rank {to} failed: {f}", self.me))
    }

    /// Fills what is reserved from several sources, each overwritten at once, and commits it.
    fn fill_and_commit(&mut self, to: Peer, lane: Lane, len: usize) {
        let stream = Stream::new(self.me, to, lane);
        let seed = self.ledger.next_seed(stream);
        let mut bytes: Vec<u8> = (0..len).map(|i| pattern(seed, i)).collect();
        let (first, second) = (len / 3, len / 2);
        self.channel().fill(Source::Bytes(&bytes[..first]));
        let middle = LentBody::new((second - first).max(1), Shape::Strided);
        if second > first {
            middle.scatter().write(&bytes[first..second]);
            let mut gather = middle.gather();
            self.channel().fill(Source::Memory(&mut gather));
            assert_eq!(gather.remaining(), 0, "fill advances a gather to its end");
        }
        self.channel().fill(Source::Bytes(&bytes[second..]));
        middle.poison();
        bytes.fill(0);
        self.ledger.commit(stream, Expected { seed, len, body: None });
        self.channel().commit();
    }

    /// Reserves and fills, but never commits. False when the lane is full.
    pub(super) fn abandon(&mut self, to: Peer, lane: Lane, len: usize) -> bool {
        let room = self.channel().reserve(to, lane, len);
        let granted = self.note_room(to, lane, room).expect("the peer lives");
        if granted {
            self.channel().fill(Source::Bytes(&vec![0xdb; len]));
        }
        granted
    }

    /// Sends a bulk. `Ok(None)` when the lane is full.
    pub(super) fn offer_bulk(
        &mut self,
        to: Peer,
        lane: Lane,
        head_len: usize,
        body_len: usize,
        shapes: (Shape, Shape),
    ) -> Result<Option<BulkToken>, Failure> {
        let stream = Stream::new(self.me, to, lane);
        let seed = self.ledger.next_seed(stream);
        let mut head: Vec<u8> = (0..head_len).map(|i| pattern(seed, i)).collect();
        let body = LentBody::with_pattern(body_len, shapes.0, seed + 1);
        let token = BulkToken(self.next_token);
        self.ledger.commit(stream, Expected { seed, len: head_len, body: Some((body_len, shapes.1)) });
        let room = self.channel().send_bulk(to, lane, &head, body.gather(), token);
        head.fill(0);
        match self.note_room(to, lane, room) {
            Ok(true) => {
                self.next_token += 1;
                self.recorder.outgoing.insert(token, (to, body));
                Ok(Some(token))
            }
            other => {
                // A refused body is not the channel's: overwrite it at once.
                body.poison();
                self.ledger.revoke(stream);
                other.map(|_| None)
            }
        }
    }

    /// [`TestedRank::offer_bulk`] to a peer that must not fail.
    pub(super) fn try_bulk(&mut self, to: Peer, lane: Lane, body_len: usize, shapes: (Shape, Shape)) -> bool {
        let token = self.offer_bulk(to, lane, 24, body_len, shapes);
        token.unwrap_or_else(|f| panic!("rank {}: rank {to} failed: {f}", self.me)).is_some()
    }

    /// Begins to write `len` bytes with the pattern of `seed`.
    pub(super) fn offer_write(
        &mut self,
        to: Peer,
        place: RemotePlace,
        len: usize,
        seed: u64,
    ) -> Result<Issued, Failure> {
        let buffer = LentBody::with_pattern(len, Shape::Contiguous, seed);
        let run = buffer.gather().peek(usize::MAX).expect("a body has bytes");
        let token = TransferToken(self.next_token);
        let remote = self.channel().remote_memory().expect("transfers are offered");
        let issued = remote.write(to, run, place, token);
        self.note_transfer(token, Transfer { peer: to, buffer, brings: None }, issued)
    }

    /// Begins to read what is to be there.
    pub(super) fn offer_read(
        &mut self,
        from: Peer,
        place: RemotePlace,
        brings: &[u8],
    ) -> Result<Issued, Failure> {
        let buffer = LentBody::new(brings.len(), Shape::Contiguous);
        let run = buffer.scatter().peek(usize::MAX).expect("a body has bytes");
        let token = TransferToken(self.next_token);
        let remote = self.channel().remote_memory().expect("transfers are offered");
        let issued = remote.read(from, run, place, token);
        self.note_transfer(token, Transfer { peer: from, buffer, brings: Some(brings.to_vec()) }, issued)
    }

    fn note_transfer(
        &mut self,
        token: TransferToken,
        transfer: Transfer,
        issued: Result<Issued, Failure>,
    ) -> Result<Issued, Failure> {
        match &issued {
            Ok(Issued::Yes) => {
                self.next_token += 1;
                self.recorder.transfers.insert(token, transfer);
            }
            refused => {
                // A buffer that is refused is not the channel's.
                if matches!(refused, Ok(Issued::Full)) {
                    self.recorder.transfers_full.insert(transfer.peer);
                }
                transfer.buffer.poison();
                self.recorder.keep(transfer.buffer);
            }
        }
        issued
    }

    /// Polls and checks what the poll did.
    pub(super) fn poll(&mut self, budget: Budget) -> Polled {
        self.recorder.begin_poll(budget);
        let channel = self.channel.as_deref_mut().expect("the test polls no rank that it killed");
        let polled = channel.poll(&mut self.recorder, budget);
        let handed = self.recorder.handed();
        if polled.packets != handed {
            let me = self.me;
            self.recorder.violations.push(format!("C5: rank {me}: {handed} packets came, but {polled:?}"));
        }
        self.check();
        polled
    }

    /// Fails the test when the channel broke a clause.
    pub(super) fn check(&mut self) {
        if let Some(channel) = &self.channel {
            let usage = channel.usage();
            assert!(usage.bytes <= usage.limit_bytes, "C8: rank {}: over the limit: {usage:?}", self.me);
        }
        assert!(self.recorder.violations.is_empty(), "{}", self.recorder.violations.join("\n"));
    }

    /// Arms, and counts the answers.
    pub(super) fn arm(&mut self) -> Armed {
        let armed = self.channel().arm();
        self.sleeps += usize::from(armed == Armed::Sleep);
        armed
    }

    /// Sleeps in the poller; says whether something woke it before `limit`.
    pub(super) fn sleep(&mut self, limit: Duration) -> bool {
        let begin = Instant::now();
        self.poller.sleep(Some(limit)).expect("the poller can wait");
        begin.elapsed() < limit
    }

    /// Runs this rank on a thread of its own, sleeping whenever it may, until `done`.
    pub(super) fn sleep_until(
        &mut self,
        what: &str,
        deadline: Instant,
        mut done: impl FnMut(&mut Self) -> bool,
    ) {
        loop {
            let polled = self.poll(PLENTY);
            if done(self) {
                return;
            }
            if polled.is_idle() && self.arm() == Armed::Sleep && !self.sleep(LOST_AFTER) {
                let late = self.poll(PLENTY);
                assert!(
                    late.is_idle(),
                    "C6: rank {} slept over {late:?} while it waited for {what}",
                    self.me
                );
            }
            assert!(
                Instant::now() < deadline,
                "rank {} still waits for {what}{}",
                self.me,
                self.ledger.report()
            );
        }
    }

    /// As [`TestedRank::sleep_until`], for what nothing wakes this rank for.
    pub(super) fn poll_until(
        &mut self,
        what: &str,
        deadline: Instant,
        mut done: impl FnMut(&mut Self) -> bool,
    ) {
        while !done(self) {
            if self.poll(PLENTY).is_idle() {
                std::thread::yield_now();
            }
            assert!(
                Instant::now() < deadline,
                "rank {} still waits for {what}{}",
                self.me,
                self.ledger.report()
            );
        }
    }

    /// One call of close.
    pub(super) fn close(&mut self) -> bool {
        self.channel().close() == Closing::Closed
    }

    /// One line about this rank for reports.
    pub(super) fn report(&self) -> String {
        let r = &self.recorder;
        format!(
            "\n  rank {}: {} events, {} bodies not yet sent, full lanes {:?}, failed peers {:?}",
            self.me,
            r.events.len(),
            r.outgoing.len(),
            r.full,
            r.failed
        )
    }

    fn note_room(&mut self, to: Peer, lane: Lane, room: Result<Room, Failure>) -> Result<bool, Failure> {
        self.check();
        match room? {
            Room::Granted => Ok(true),
            Room::Full => {
                self.recorder.full.insert((to, lane));
                Ok(false)
            }
        }
    }
}
