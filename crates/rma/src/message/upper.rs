//! Messages as the engine sees them: a protocol on its channels.

use super::messenger::Messenger;
use rma_core::channel::{BulkToken, Channel, Delivery, Failure, Lane, Placement};
use rma_core::ids::Peer;
use rma_core::progress::Upper;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

/// The engine's side of a [`super::Messenger`].
pub struct MessageUpper {
    messenger: Messenger,
}

impl MessageUpper {
    pub(super) fn new(messenger: Messenger) -> Self {
        Self { messenger }
    }

    /// How often something has happened that may be waited for: a message has ended at either end, or one to
    /// this very process has come. It changes under the engine's lock, or by calls whose caller steps the
    /// engine afterwards.
    pub fn events(&self) -> u64 {
        self.messenger.signs().events.load(Relaxed)
    }

    /// Whether there is something to send.
    pub(crate) fn is_active(&self) -> bool {
        self.messenger.signs().is_active.load(Relaxed)
    }
}

impl Upper for MessageUpper {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        self.messenger.lock().on_packet(from, lane, bytes)
    }

    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
        self.messenger.lock().on_body(from, lane, head, body_len)
    }

    fn bulk_received(&mut self, from: Peer, lane: Lane) {
        self.messenger.lock().on_body_received(from, lane);
    }

    fn bulk_sent(&mut self, token: BulkToken) {
        self.messenger.lock().on_body_left(token);
    }

    fn failed(&mut self, peer: Peer, failure: &Failure) {
        self.messenger.lock().on_lost(peer, failure);
    }

    fn advance(&mut self, channel: &mut dyn Channel) -> bool {
        let is_wanted =
            self.messenger.signs().is_active.load(Relaxed) || self.messenger.signs().is_due.load(Relaxed);
        is_wanted && self.messenger.lock().advance(channel)
    }

    fn is_due(&self) -> bool {
        self.messenger.signs().is_due.load(Relaxed)
    }

    fn wants_advance(&self) -> bool {
        self.is_due()
    }

    fn before_sleep(&mut self) -> bool {
        self.messenger.signs().has_to_greet.load(Relaxed) && self.messenger.lock().greet_awaited()
    }
}

impl fmt::Debug for MessageUpper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageUpper")
    }
}
