//! The channel of a job of one process: it has no peers.

use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Failure, FailureKind, Lane, MIN_PACKET, Polled,
    Room, Sink, Source, Usage,
};
use rma_core::datatype::Gather;
use rma_core::ids::Peer;
use rma_core::poller::Registrar;
use std::io;

/// Refuses every peer.
#[derive(Debug)]
pub(crate) struct NoPeers;

fn unreachable(peer: Peer) -> Failure {
    let detail = format!("there is no process {peer} in a job of one");
    Failure { kind: FailureKind::Unreachable, detail }
}

// SAFETY: no memory is touched.
unsafe impl Channel for NoPeers {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "none", max_packet: MIN_PACKET, bulk_from: MIN_PACKET }
    }

    fn register(&mut self, _: &Registrar) -> io::Result<()> {
        Ok(())
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        Err(unreachable(peer))
    }

    fn reserve(&mut self, peer: Peer, _: Lane, _: usize) -> Result<Room, Failure> {
        Err(unreachable(peer))
    }

    fn fill(&mut self, _: Source<'_>) {
        unreachable!("nothing was reserved");
    }

    fn commit(&mut self) {
        unreachable!("nothing was reserved");
    }

    fn send_bulk(&mut self, peer: Peer, _: Lane, _: &[u8], _: Gather, _: BulkToken) -> Result<Room, Failure> {
        Err(unreachable(peer))
    }

    fn poll(&mut self, _: &mut dyn Sink, _: Budget) -> Polled {
        Polled::default()
    }

    fn arm(&mut self) -> Armed {
        Armed::Sleep
    }

    fn close(&mut self) -> Closing {
        Closing::Closed
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}
