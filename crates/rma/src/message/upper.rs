//! Messages as the engine sees them: a protocol on its channels.

use super::state::State;
use parking_lot::Mutex;
use rma_core::channel::{BulkToken, Channel, Delivery, Failure, Lane, Placement};
use rma_core::ids::Peer;
use rma_core::progress::Upper;
use std::fmt;
use std::sync::Arc;

/// The engine's side of a [`super::Messenger`].
pub struct MessageUpper {
    state: Arc<Mutex<State>>,
}

impl MessageUpper {
    pub(super) fn new(state: Arc<Mutex<State>>) -> Self {
        Self { state }
    }
}

impl Upper for MessageUpper {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        self.state.lock().on_packet(from, lane, bytes)
    }

    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
        self.state.lock().on_body(from, lane, head, body_len)
    }

    fn bulk_received(&mut self, from: Peer, lane: Lane) {
        self.state.lock().on_body_received(from, lane);
    }

    fn bulk_sent(&mut self, token: BulkToken) {
        self.state.lock().on_body_left(token);
    }

    fn failed(&mut self, peer: Peer, failure: &Failure) {
        self.state.lock().on_lost(peer, failure);
    }

    fn advance(&mut self, channel: &mut dyn Channel) -> bool {
        self.state.lock().advance(channel)
    }

    fn is_due(&self) -> bool {
        self.state.lock().is_due
    }
}

impl fmt::Debug for MessageUpper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageUpper")
    }
}
