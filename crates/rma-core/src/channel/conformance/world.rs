//! A job of the suite: its ranks, driven in turn by the test's thread, and the waits that end with a report.

use super::bench::Bench;
use super::ledger::Ledger;
use super::memory::Shape;
use super::rank::{PLENTY, TestedRank};
use crate::channel::{Channel, Lane};
use crate::ids::Peer;
use std::time::Instant;

/// Polls without result after which a world counts as quiet. Bytes between two processes' buffers move in far fewer.
const QUIET_ROUNDS: usize = 200;

/// The ranks of one job.
pub(super) struct World<'a> {
    pub(super) ranks: Vec<TestedRank>,
    pub(super) ledger: Ledger,
    pub(super) bench: &'a mut Bench,
    /// Ranks that are not polled: they live, but compute.
    pub(super) away: Vec<Peer>,
}

impl<'a> World<'a> {
    pub(super) fn new(bench: &'a mut Bench, channels: Vec<Box<dyn Channel>>) -> Self {
        let ledger = Ledger::default();
        let ranks =
            (0..).map(Peer).zip(channels).map(|(me, c)| TestedRank::new(me, c, ledger.clone())).collect();
        Self { ranks, ledger, bench, away: Vec::new() }
    }

    /// A rank.
    pub(super) fn rank(&mut self, rank: u32) -> &mut TestedRank {
        &mut self.ranks[rank as usize]
    }

    /// Polls every living rank once that is not away; says whether anything happened.
    pub(super) fn step(&mut self) -> bool {
        let mut moved = false;
        for rank in self.ranks.iter_mut().filter(|r| r.is_alive() && !self.away.contains(&r.me)) {
            moved |= !rank.poll(PLENTY).is_idle();
        }
        moved
    }

    /// Polls one rank until it has been idle for a while: what it committed is as far as it gets alone.
    pub(super) fn settle(&mut self, rank: u32) {
        let mut quiet = 0;
        while quiet < QUIET_ROUNDS {
            let idle = self.rank(rank).poll(PLENTY).is_idle();
            quiet = if idle { quiet + 1 } else { 0 };
            self.bench.fixture.idle();
            self.check_time("a rank that is polled alone to become idle");
        }
    }

    /// Polls all ranks until all have been idle for a while.
    pub(super) fn settle_all(&mut self) {
        let mut quiet = 0;
        while quiet < QUIET_ROUNDS {
            quiet = if self.step() { 0 } else { quiet + 1 };
            self.bench.fixture.idle();
            self.check_time("all ranks to become idle");
        }
    }

    /// Polls all ranks in turn until `done`.
    pub(super) fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        self.bench.note(format!("waiting for {what}"));
        while !done(self) {
            if !self.step() {
                self.bench.fixture.idle();
            }
            self.check_time(what);
        }
    }

    /// Polls until everything committed has arrived and every bulk has been answered.
    pub(super) fn until_all_arrived(&mut self) {
        self.until("all packets to arrive and all bodies to be reported sent", |w| {
            w.ledger.on_their_way(|_| true) == 0 && w.ranks.iter().all(|r| r.recorder.outgoing.is_empty())
        });
        self.finish_checks();
    }

    /// Sends a small packet, driving the world while there is no room.
    pub(super) fn send(&mut self, from: u32, to: u32, lane: Lane, len: usize) {
        self.until("room for a small packet", |w| w.rank(from).try_small(Peer(to), lane, len));
    }

    /// Sends a bulk, driving the world while there is no room.
    pub(super) fn send_bulk(&mut self, from: u32, to: u32, lane: Lane, body: usize, shapes: (Shape, Shape)) {
        self.until("room for a bulk", |w| w.rank(from).try_bulk(Peer(to), lane, body, shapes));
    }

    /// Makes two ranks known to each other, in both lanes and both ways, and lets everything become quiet.
    pub(super) fn introduce(&mut self, a: u32, b: u32) {
        for lane in Lane::ALL {
            self.send(a, b, lane, 1);
            self.send(b, a, lane, 1);
        }
        self.until_all_arrived();
        self.until("nothing to be full", |w| w.ranks.iter().all(|r| r.recorder.full.is_empty()));
        self.settle_all();
    }

    /// Sends packets of `len` bytes until the lane is full and stays so while only the sender polls. Says how many.
    pub(super) fn fill_lane(&mut self, from: u32, to: u32, lane: Lane, len: usize) -> usize {
        self.bench.note(format!("filling the {lane:?} lane from rank {from} to rank {to}"));
        let limit = self.bench.fixture.most_unread_bytes();
        let mut sent = 0;
        loop {
            while self.rank(from).try_small(Peer(to), lane, len) {
                sent += 1;
                assert!(sent * len <= limit, "C3, C8: {sent} packets of {len} bytes unread, and still room");
                self.check_time("a lane to become full");
            }
            self.settle(from);
            if self.rank(from).recorder.full.contains(&(Peer(to), lane)) {
                return sent;
            }
        }
    }

    /// Kills a rank: its channel goes as the fixture says, its memory is overwritten.
    pub(super) fn kill(&mut self, rank: u32) {
        let channel = self.rank(rank).take_channel().expect("a rank dies once");
        self.bench.fixture.kill(Peer(rank), channel);
        self.rank(rank).recorder.bury();
    }

    /// What can only be checked in the end.
    pub(super) fn finish_checks(&mut self) {
        for rank in &mut self.ranks {
            rank.recorder.check_landed();
            rank.check();
        }
    }

    fn check_time(&self, what: &str) {
        if Instant::now() >= self.bench.deadline {
            let ranks: String = self.ranks.iter().map(TestedRank::report).collect();
            panic!("still waiting for {what}{}{ranks}", self.ledger.report());
        }
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        // All channels go before any memory that one of them was lent.
        for rank in &mut self.ranks {
            drop(rank.take_channel());
        }
    }
}
