//! Wrappers that put memory on the right account: what a channel or a host asks for is not the engine's.

use super::weigh::{Owner, owner, within};
use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Delivery, Failure, Lane, Placement, Polled,
    Room, Sink, Source, Usage,
};
use rma_core::datatype::Gather;
use rma_core::error::Result;
use rma_core::host::{Combine, Group, Host, HostRequest, Locality, Outcome, SegmentRequest};
use rma_core::ids::Peer;
use rma_core::poller::Registrar;
use std::time::Duration;

/// A channel whose memory is the channel's.
pub(super) struct TaggedChannel(pub(super) Box<dyn Channel>);

/// A host whose memory is the host's.
pub(super) struct TaggedHost<H>(pub(super) H);

/// The engine behind a channel's sink.
struct Back<'a>(&'a mut dyn Sink, Owner);

impl Sink for Back<'_> {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        within(self.1, || self.0.packet(from, lane, bytes))
    }

    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
        within(self.1, || self.0.bulk(from, lane, head, body_len))
    }

    fn bulk_received(&mut self, from: Peer, lane: Lane) {
        within(self.1, || self.0.bulk_received(from, lane));
    }

    fn bulk_sent(&mut self, token: BulkToken) {
        within(self.1, || self.0.bulk_sent(token));
    }

    fn writable(&mut self, peer: Peer, lane: Lane) {
        within(self.1, || self.0.writable(peer, lane));
    }

    fn failed(&mut self, peer: Peer, failure: Failure) {
        within(self.1, || self.0.failed(peer, failure));
    }
}

// SAFETY: memory of bulk bodies and placements passes through to the wrapped channel untouched.
unsafe impl Channel for TaggedChannel {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn register(&mut self, registrar: &Registrar) -> std::io::Result<()> {
        within(Owner::Channel, || self.0.register(registrar))
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        within(Owner::Channel, || self.0.connect(peer))
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        within(Owner::Channel, || self.0.reserve(peer, lane, len))
    }

    fn fill(&mut self, source: Source<'_>) {
        within(Owner::Channel, || self.0.fill(source));
    }

    fn commit(&mut self) {
        within(Owner::Channel, || self.0.commit());
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        within(Owner::Channel, || self.0.send_bulk(peer, lane, head, body, token))
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        let engine = owner();
        within(Owner::Channel, || self.0.poll(&mut Back(sink, engine), budget))
    }

    fn arm(&mut self) -> Armed {
        within(Owner::Channel, || self.0.arm())
    }

    fn close(&mut self) -> Closing {
        within(Owner::Channel, || self.0.close())
    }

    fn usage(&self) -> Usage {
        within(Owner::Channel, || self.0.usage())
    }
}

impl<H: Host> Host for TaggedHost<H> {
    fn begin_barrier(&self, group: &Group) -> Result<HostRequest> {
        within(Owner::Host, || self.0.begin_barrier(group))
    }

    fn begin_reduce(&self, group: &Group, combine: Combine, values: &[u64]) -> Result<HostRequest> {
        within(Owner::Host, || self.0.begin_reduce(group, combine, values))
    }

    fn poll(&self, request: HostRequest) -> Result<Option<Outcome>> {
        within(Owner::Host, || self.0.poll(request))
    }

    fn begin_segment(&self, group: &Group, request: SegmentRequest) -> Result<HostRequest> {
        within(Owner::Host, || self.0.begin_segment(group, request))
    }

    fn locality(&self, peer: Peer) -> Locality {
        self.0.locality(peer)
    }

    fn now(&self) -> Duration {
        self.0.now()
    }
}
