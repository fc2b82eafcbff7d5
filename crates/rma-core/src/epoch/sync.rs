//! A synchronization call as a value: one of the protocols, begun and not yet over.

use super::{
    Call, CompleteSync, FenceSync, FlushAllSync, FlushSync, LockAllSync, LockSync, PromisedSync, StartSync,
    UnlockAllSync, UnlockSync, WaitSync,
};
use crate::control::LockKind;
use crate::error::Result;
use crate::host::Host;
use crate::progress::State;
use crate::window::{Guard, InLine, WindowState};

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

/// The protocols.
#[derive(Debug)]
pub(crate) enum SyncStep {
    Fence(FenceSync),
    Lock(LockSync),
    Unlock(UnlockSync),
    Flush(FlushSync),
    FlushAll(FlushAllSync),
    LockAll(LockAllSync),
    UnlockAll(UnlockAllSync),
    Start(StartSync),
    Complete(CompleteSync),
    Wait(WaitSync),
    Promised(PromisedSync),
    /// The lock is held, or promised; the epoch is open.
    Held,
    /// The call had nothing to wait for, or is over.
    Done,
}

impl SyncStep {
    /// In whose line the call stands, if it is one for a lock.
    pub(crate) fn in_line(&self) -> InLine {
        match self {
            Self::Lock(lock) => lock.in_line(),
            Self::LockAll(lock) => InLine { rank: lock.in_line(), kind: Some(LockKind::Shared) },
            _ => InLine::default(),
        }
    }

    /// Advances; answers whether the call is over.
    ///
    /// # Errors
    /// Those of the call.
    pub(crate) fn poll(
        &mut self,
        state: &mut State,
        window: &mut WindowState,
        host: &dyn Host,
    ) -> Result<bool> {
        match self {
            Self::Done | Self::Held => Ok(true),
            Self::Fence(fence) => fence.poll(state, window, host),
            Self::Lock(lock) => lock.poll(state, window),
            Self::Unlock(unlock) => unlock.poll(state, window),
            Self::Flush(flush) => flush.poll(state, window),
            Self::FlushAll(flush) => flush.poll(state, window),
            Self::LockAll(lock) => lock.poll(state, window),
            Self::UnlockAll(unlock) => unlock.poll(state, window),
            Self::Start(start) => Ok(start.poll(state, window)),
            Self::Complete(complete) => complete.poll(state, window),
            Self::Wait(wait) => wait.poll(state, window),
            Self::Promised(promised) => promised.poll(state, window),
        }
    }
}
