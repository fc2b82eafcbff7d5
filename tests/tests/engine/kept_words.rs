//! Calls that are over at once although their word still lies in the channel, which may keep packets until it
//! is polled: the word leaves with the call, because the caller may compute for long while the other rank
//! waits for it.

use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Failure, Lane, Polled, Room, Sink, Source,
    Usage,
};
use rma_core::datatype::Gather;
use rma_core::epoch::Assert;
use rma_core::ids::{Disp, Peer, Rank};
use rma_core::poller::Registrar;
use rma_core::window::{Window, WindowSpec};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, into, local};

/// Keeps every small packet until the next poll.
struct Keeper {
    inner: Box<dyn Channel>,
    draft: Option<Kept>,
    kept: Vec<Kept>,
}

struct Kept {
    peer: Peer,
    lane: Lane,
    bytes: Vec<u8>,
}

impl Keeper {
    fn wrap(inner: Box<dyn Channel>) -> Box<dyn Channel> {
        Box::new(Self { inner, draft: None, kept: Vec::new() })
    }

    /// Passes on what has been kept, as far as there is room; answers whether anything has moved.
    fn pass_on(&mut self) -> bool {
        let kept = self.kept.len();
        while let Some(Kept { peer, lane, bytes }) = self.kept.first() {
            // To a peer that is lost nothing goes any more.
            match self.inner.reserve(*peer, *lane, bytes.len()) {
                Ok(Room::Granted) => {
                    self.inner.fill(Source::Bytes(bytes));
                    self.inner.commit();
                }
                Ok(Room::Full) => break,
                Err(_) => {}
            }
            self.kept.remove(0);
        }
        self.kept.len() < kept
    }
}

// SAFETY: small packets are copies of their own, everything else is the wrapped channel's, which keeps every clause.
unsafe impl Channel for Keeper {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn capabilities_for(&self, peer: Peer) -> Capabilities {
        self.inner.capabilities_for(peer)
    }

    fn register(&mut self, registrar: &Registrar) -> std::io::Result<()> {
        self.inner.register(registrar)
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.inner.connect(peer)
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, _: usize) -> Result<Room, Failure> {
        self.draft = Some(Kept { peer, lane, bytes: Vec::new() });
        Ok(Room::Granted)
    }

    fn fill(&mut self, source: Source<'_>) {
        let draft = self.draft.as_mut().expect("a packet is reserved");
        let old = draft.bytes.len();
        draft.bytes.resize(old + source.len(), 0);
        match source {
            Source::Bytes(bytes) => draft.bytes[old..].copy_from_slice(bytes),
            Source::Memory(gather) => Gather::clone(gather).read(&mut draft.bytes[old..]),
        }
    }

    fn commit(&mut self) {
        self.kept.extend(self.draft.take());
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        if self.kept.is_empty() {
            self.inner.send_bulk(peer, lane, head, body, token)
        } else {
            Ok(Room::Full)
        }
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        let has_moved = self.pass_on();
        let mut polled = self.inner.poll(sink, budget);
        polled.moved |= has_moved;
        polled
    }

    fn arm(&mut self) -> Armed {
        if self.kept.is_empty() { self.inner.arm() } else { Armed::Busy }
    }

    fn close(&mut self) -> Closing {
        self.pass_on();
        self.inner.close()
    }

    fn usage(&self) -> Usage {
        self.inner.usage()
    }
}

/// Two ranks of a node, with windows of their own memory, and that memory.
fn scene(seed: u64) -> (Stepped, Vec<Window>, Vec<[u64; 4]>) {
    let world = Stepped::with_channels(&Setup::direct(2), seed, Keeper::wrap);
    let mut memory = vec![[0; 4]; 2];
    let spans: Vec<_> = memory.iter_mut().map(|elements| into(elements)).collect();
    let windows = world.windows(|me| WindowSpec::Create { memory: spans[me as usize], unit: 8 });
    (world, windows, memory)
}

/// Lets only rank 1 step until `done`.
fn until_without_rank_0(world: &Stepped, what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        world.pump_only(|rank| rank == 1);
    }
    panic!("{what} waits for rank 0, which computes");
}

#[test]
fn the_word_of_a_fence_leaves_although_the_call_is_over_at_once() {
    let (world, windows, _memory) = scene(1);
    let values = [10, 11, 12, 13];
    for round in 0..4 {
        let mut theirs = windows[1].begin_fence(Assert::NONE).unwrap();
        // Their word is there before the call.
        (0..100).for_each(|_| world.pump());
        let mut own = windows[0].begin_fence(Assert::NONE).unwrap();
        if round < 2 {
            // Nothing is met yet, and the store makes the element of its target.
            world.finish(&windows[0], "fence", own).unwrap();
        } else {
            assert!(windows[0].poll_sync(&mut own).unwrap(), "round {round}");
        }
        until_without_rank_0(&world, "fence", || windows[1].poll_sync(&mut theirs).unwrap());
        if round > 0 {
            assert_eq!(local(&windows[1], round - 1), values[round - 1]);
        }
        if round < 3 {
            windows[0].put(from(&values[round..=round]), Rank(1), Disp(round as u64)).unwrap();
        }
    }
}

#[test]
fn the_word_of_complete_leaves_although_the_call_is_over_at_once() {
    let (world, windows, _memory) = scene(2);
    let values = [10, 11, 12, 13];
    for round in 0..4 {
        windows[1].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
        (0..100).for_each(|_| world.pump());
        let start = windows[0].begin_start(&[Rank(1)], Assert::NONE).unwrap();
        world.finish(&windows[0], "start", start).unwrap();
        let has_store = round != 3;
        if has_store {
            windows[0].put(from(&values[round..=round]), Rank(1), Disp(round as u64)).unwrap();
        }
        let mut complete = windows[0].begin_complete().unwrap();
        if round == 0 {
            world.finish(&windows[0], "complete", complete).unwrap();
        } else {
            assert!(windows[0].poll_sync(&mut complete).unwrap(), "round {round}");
        }
        let mut wait = windows[1].begin_wait().unwrap();
        until_without_rank_0(&world, "wait", || windows[1].poll_sync(&mut wait).unwrap());
        assert_eq!(local(&windows[1], round), if has_store { values[round] } else { 0 });
    }
}
