//! A synchronization call as a value: one of the protocols, begun and not yet over.

use super::dropped::Guard;
use crate::epoch::Call;
use crate::sync::SyncStep;

/// A synchronization call under way: what `begin_…` gives and [`Window::poll_sync`](crate::window::Window::poll_sync)
/// advances.
///
/// Dropped before it is over, a call that opens an epoch is undone, and one that ends an epoch, or a fence, goes on by itself
/// (`window/dropped.rs`). Which of the two has happened [`Sync::is_over`] tells: a call that had nothing to wait for is over when
/// it is begun, and dropping it undoes nothing.
#[derive(Debug)]
#[must_use = "a synchronization call happens only while it is polled"]
pub struct Sync(pub(crate) SyncStep, pub(crate) Call, pub(crate) Option<Guard>);

impl Sync {
    /// Whether the call is over.
    pub fn is_over(&self) -> bool {
        matches!(self.0, SyncStep::Held | SyncStep::Done)
    }

    /// Whether the call opens an access epoch.
    pub(crate) fn opens(&self) -> bool {
        matches!(self.0, SyncStep::Lock(_) | SyncStep::LockAll(_) | SyncStep::Start(_) | SyncStep::Held)
    }

    /// Whether what is waited for mostly comes in packets, and not in memory that is shared.
    pub(crate) fn waits_for_packets(&self) -> bool {
        use SyncStep::{Complete, Fence, Flush, FlushAll, Promised, Unlock, UnlockAll};
        match &self.0 {
            Fence(fence) => fence.is_by_packets(),
            Complete(complete) => complete.waits_for_post(),
            step => matches!(step, Flush(_) | FlushAll(_) | Promised(_) | Unlock(_) | UnlockAll(_)),
        }
    }
}
