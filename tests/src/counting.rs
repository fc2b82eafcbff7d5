//! A channel wrapper that counts the one-sided packets of a whole world.

use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Failure, Lane, Polled, RemoteMemory, Room,
    Sink, Source, TransferLimits, Usage,
};
use rma_core::datatype::Gather;
use rma_core::ids::Peer;
use rma_core::poller::Registrar;
use rma_core::wire::{Protocol, check_header};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Counts committed one-sided packets, small and bulk, of every channel that shares the counter.
pub struct Counting {
    inner: Box<dyn Channel>,
    packets: Arc<AtomicU64>,
    head: Vec<u8>,
}

impl Counting {
    /// Wraps `inner`.
    pub fn new(inner: Box<dyn Channel>, packets: Arc<AtomicU64>) -> Self {
        Self { inner, packets, head: Vec::new() }
    }

    /// Counts a packet before it leaves: its receiver may look at the count at once.
    fn count(&self, head: &[u8]) {
        self.packets.fetch_add(is_one_sided(head), SeqCst);
    }
}

fn is_one_sided(head: &[u8]) -> u64 {
    (check_header(head) == Ok(Protocol::OneSided)).into()
}

impl std::fmt::Debug for Counting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Counting {}", self.packets.load(SeqCst))
    }
}

// SAFETY: memory of bulk bodies and placements passes through to the wrapped channel untouched.
unsafe impl Channel for Counting {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn register(&mut self, registrar: &Registrar) -> std::io::Result<()> {
        self.inner.register(registrar)
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.inner.connect(peer)
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        self.head.clear();
        self.inner.reserve(peer, lane, len)
    }

    fn fill(&mut self, source: Source<'_>) {
        if let Source::Bytes(bytes) = &source
            && self.head.is_empty()
        {
            self.head.extend_from_slice(&bytes[..bytes.len().min(2)]);
        }
        self.inner.fill(source);
    }

    fn commit(&mut self) {
        self.count(&self.head);
        self.inner.commit();
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        self.count(head);
        let sent = self.inner.send_bulk(peer, lane, head, body, token);
        if !matches!(sent, Ok(Room::Granted)) {
            self.packets.fetch_sub(is_one_sided(head), SeqCst);
        }
        sent
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        self.inner.poll(sink, budget)
    }

    fn arm(&mut self) -> Armed {
        self.inner.arm()
    }

    fn close(&mut self) -> Closing {
        self.inner.close()
    }

    fn transfers(&self, peer: Peer) -> Option<TransferLimits> {
        self.inner.transfers(peer)
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        self.inner.remote_memory()
    }

    fn usage(&self) -> Usage {
        self.inner.usage()
    }
}
