//! Epochs: which calls are legal when, and the synchronization protocols, one file each.
//!
//! A protocol is a value, [`Sync`], that is begun and then polled until it is over; it never waits. The facts it works on
//! (window state, locks held, what targets have acknowledged) belong to the window and its table. Each predicate is
//! recomputed from them at every poll (lessons, fixed 12).

mod fence;
mod flush;
mod legal;
mod lock;
mod state;

pub use crate::control::LockKind;
pub(crate) use fence::{FenceSync, is_open};
pub(crate) use flush::{FlushSync, Reach};
pub(crate) use legal::{Call, check};
pub(crate) use lock::{LockSync, UnlockSync};
pub use state::Assert;
pub(crate) use state::{Epoch, LockState, WindowEpoch};

/// A synchronization call under way: what `begin_…` gives and [`Window::poll_sync`](crate::window::Window::poll_sync)
/// advances.
#[derive(Debug)]
#[must_use = "a synchronization call happens only while it is polled"]
pub struct Sync(pub(crate) SyncStep);

/// The protocols.
#[derive(Debug)]
pub(crate) enum SyncStep {
    Fence(FenceSync),
    Lock(LockSync),
    Unlock(UnlockSync),
    Flush(FlushSync),
    /// The lock is held, or promised.
    Held,
    /// The call had nothing to wait for, or is over.
    Done,
}
