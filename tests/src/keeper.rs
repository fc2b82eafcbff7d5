//! A channel that keeps packets: until the next poll, and to one peer for as long as a test wants.

use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Failure, Lane, Polled, Room, Sink, Source,
    Usage,
};
use rma_core::datatype::Gather;
use rma_core::ids::Peer;
use rma_core::poller::Registrar;
use std::fmt;
use std::sync::{Arc, Mutex};

/// Keeps every small packet until the next poll.
pub struct Keeper {
    inner: Box<dyn Channel>,
    draft: Option<Kept>,
    kept: Vec<Kept>,
    slow: Slow,
}

/// The peer to which nothing leaves for now, if there is one: as over a connection that is slower than all others.
#[derive(Clone, Debug, Default)]
pub struct Slow(Arc<Mutex<Option<Peer>>>);

impl Slow {
    /// Nothing leaves to this peer, or to all again, from the next poll on.
    ///
    /// # Panics
    /// When a thread has panicked in here.
    pub fn set(&self, peer: Option<Peer>) {
        *self.0.lock().unwrap() = peer;
    }
}

struct Kept {
    peer: Peer,
    lane: Lane,
    bytes: Vec<u8>,
}

impl Keeper {
    /// A channel of which nothing is slow.
    pub fn new(inner: Box<dyn Channel>) -> Self {
        Self::slow(inner, Slow::default())
    }

    /// A channel to one of whose peers packets may be late.
    pub fn slow(inner: Box<dyn Channel>, slow: Slow) -> Self {
        Self { inner, draft: None, kept: Vec::new(), slow }
    }

    /// Passes on what has been kept, as far as there is room; answers whether anything has moved.
    fn pass_on(&mut self) -> bool {
        let (kept, slow) = (self.kept.len(), *self.slow.0.lock().unwrap());
        let mut at = 0;
        while let Some(Kept { peer, lane, bytes }) = self.kept.get(at) {
            if slow == Some(*peer) {
                at += 1;
                continue;
            }
            // To a peer that is lost nothing goes any more.
            match self.inner.reserve(*peer, *lane, bytes.len()) {
                Ok(Room::Granted) => {
                    self.inner.fill(Source::Bytes(bytes));
                    self.inner.commit();
                }
                Ok(Room::Full) => break,
                Err(_) => {}
            }
            self.kept.remove(at);
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
        if self.kept.iter().all(|kept| kept.peer != peer) {
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

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").field("kept", &self.kept.len()).finish_non_exhaustive()
    }
}
