//! The line to protocols that share the channels with the engine, such as the host's messages.

use crate::channel::{BulkToken, Channel, Delivery, Failure, Lane, Placement};
use crate::ids::Peer;

/// A protocol of the host whose packets travel on the engine's channels (design §4).
///
/// Its packets start with [`crate::wire::header`] of [`crate::wire::Protocol::Message`]. The engine calls it under the
/// engine's lock, so an implementation never calls the engine; state that it shares with the host has a lock of its own.
/// Handlers only take notes; all sending happens in [`Upper::advance`].
pub trait Upper: Send {
    /// A small packet arrived, header included.
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery;

    /// A bulk packet's head arrived, header included.
    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement;

    /// The body of that bulk packet is in place.
    fn bulk_received(&mut self, from: Peer, lane: Lane);

    /// A bulk body of this protocol has left. Tokens of this protocol have [`UPPER_TOKEN`] set.
    fn bulk_sent(&mut self, token: BulkToken);

    /// A peer is lost.
    fn failed(&mut self, peer: Peer, failure: &Failure);

    /// Sends what is queued and has room; says whether anything was sent. Called when a step of the engine begins, and once more
    /// when it has found room, or has delivered something and [`Upper::wants_advance`].
    fn advance(&mut self, channel: &mut dyn Channel) -> bool;

    /// Whether something was begun since the last [`Upper::advance`], so that a waiter must not sleep yet.
    fn is_due(&self) -> bool {
        false
    }

    /// Whether there may be something to send because of what was delivered.
    fn wants_advance(&self) -> bool {
        true
    }

    /// A thread is about to sleep; says whether there is something to send first.
    fn before_sleep(&mut self) -> bool {
        false
    }
}

/// Set in every [`BulkToken`] of a protocol above the engine.
pub const UPPER_TOKEN: u64 = 1 << 63;

/// No protocol above: for engines whose host has channels of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoUpper;

impl Upper for NoUpper {
    fn packet(&mut self, _: Peer, _: Lane, _: &[u8]) -> Delivery {
        Delivery::Refused("no protocol above the engine in this process")
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], _: u64) -> Placement {
        Placement::Refused("no protocol above the engine in this process")
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn failed(&mut self, _: Peer, _: &Failure) {}

    fn advance(&mut self, _: &mut dyn Channel) -> bool {
        false
    }
}
