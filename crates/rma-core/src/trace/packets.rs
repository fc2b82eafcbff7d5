//! The packets of a channel as events: what a [`Tracer`](crate::channel::Tracer) reports, with names and numbers.
//!
//! Packets of one sender, receiver and lane arrive once and in order (clause C1 of the channel contract), so counting them at
//! both ends gives each the same number there, without a byte on the wire.

use super::event::{Event, Observer, Packet};
use crate::channel::{Lane, PacketLog, TraceEvent};
use crate::ids::{Peer, WindowId};
use crate::wire;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Reports the packets of one channel to an observer, and to `tracing` (target `rma::packet`).
#[derive(Debug)]
pub struct ObservedPackets {
    observer: Arc<dyn Observer>,
    sent: Numbers,
    received: Numbers,
    /// When the channel was last asked to send a bulk.
    tried: Option<Instant>,
}

#[derive(Debug, Default)]
struct Numbers(HashMap<(Peer, Lane), u64>);

/// Observes nothing: only `tracing` gets the packets.
struct Silent;

impl ObservedPackets {
    /// Whether a subscriber of `tracing` wants to hear of packets.
    pub fn are_traced() -> bool {
        tracing::enabled!(target: "rma::packet", tracing::Level::TRACE)
    }

    /// Reports to an observer, if there is one.
    pub fn new(observer: Option<Arc<dyn Observer>>) -> Self {
        let observer = observer.unwrap_or_else(|| Arc::new(Silent));
        Self { observer, sent: Numbers::default(), received: Numbers::default(), tried: None }
    }
}

impl PacketLog for ObservedPackets {
    fn tries(&mut self) {
        self.tried = Some(Instant::now());
    }

    fn sent(&mut self, event: TraceEvent) {
        let TraceEvent { channel, to: peer, lane, len, body_len, head, .. } = event;
        let (name, window) = name_of(lane, &head);
        let (number, len) = (self.sent.next(peer, lane), len as u64 + body_len);
        let since = self.tried.take().filter(|_| body_len > 0);
        tracing::trace!(target: "rma::packet", %peer, ?lane, name, ?window, number, len, "sent");
        self.observer.observe(&Event::PacketSent(Packet {
            peer,
            lane,
            name,
            window,
            number,
            len,
            channel,
            since,
        }));
    }

    fn wants_received(&self) -> bool {
        true
    }

    fn received(&mut self, peer: Peer, lane: Lane, head: &[u8], len: u64) {
        let (name, window) = name_of(lane, head);
        let number = self.received.next(peer, lane);
        tracing::trace!(target: "rma::packet", %peer, ?lane, name, ?window, number, len, "received");
        let packet = Packet { peer, lane, name, window, number, len, channel: "", since: None };
        self.observer.observe(&Event::PacketReceived(packet));
    }
}

impl Numbers {
    fn next(&mut self, peer: Peer, lane: Lane) -> u64 {
        let next = self.0.entry((peer, lane)).or_default();
        *next += 1;
        *next - 1
    }
}

impl Observer for Silent {
    fn observe(&self, _: &Event<'_>) {}
}

impl fmt::Debug for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Silent")
    }
}

fn name_of(lane: Lane, head: &[u8]) -> (&'static str, Option<WindowId>) {
    match wire::check_header(head) {
        Ok(wire::Protocol::OneSided) => wire::kind_and_window(lane == Lane::Request, head),
        Ok(wire::Protocol::Message) => ("message", None),
        Err(_) => ("unknown", None),
    }
}
