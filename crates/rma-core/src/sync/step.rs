//! One of the protocols, begun and not yet over.

use super::{
    CompleteSync, FenceSync, FlushAllSync, FlushSync, InLine, LockAllSync, LockSync, PromisedSync, StartSync,
    UnlockAllSync, UnlockSync, WaitSync, lock,
};
use crate::channel::Channel;
use crate::control::LockKind;
use crate::error::Result;
use crate::host::Host;
use crate::ids::WindowId;
use crate::state::{GivenUp, State, WindowState, Windows};
use crate::sync::parting;

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
    /// The window was revoked, and the channel has buffers of the program's in hand: the call fails when it has given them back.
    Revoked,
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

    /// Sees to the locks that the caller called for earlier on other windows, before [`SyncStep::poll`] of a call that comes behind them.
    pub(crate) fn ask_elsewhere(&mut self, windows: &mut Windows, state: &mut State, here: WindowId) {
        let (caller, are_held) = match self {
            Self::Lock(lock) => (lock.waits_for_earlier(), &mut lock.are_others_held),
            Self::LockAll(lock) => (lock.waits_for_earlier(), &mut lock.are_others_held),
            _ => return,
        };
        if let Some(caller) = caller {
            *are_held = lock::ask_elsewhere(windows, state, here, caller);
        }
    }

    /// Whether the call sends its word to other ranks itself, without a step.
    pub(crate) fn notifies_at_once(&self) -> bool {
        match self {
            Self::Fence(fence) => fence.is_by_packets(),
            Self::Complete(complete) => complete.waits_for_post(),
            _ => false,
        }
    }

    /// Whether a call that only waits is over: most looks find that nothing has come yet, which changes
    /// nothing. `None` where [`SyncStep::poll`] has to find out.
    #[inline]
    pub(crate) fn look(&self, state: &State, window: &WindowState) -> Option<bool> {
        let is_plain = state.lost.is_empty() && window.error.is_none() && !window.is_revoked();
        match self {
            _ if !is_plain => None,
            Self::Flush(flush) => Some(flush.is_over(state)),
            Self::Unlock(unlock) => unlock.waits(state).then_some(false),
            Self::Fence(fence) => (state.is_spinning && fence.waits(window)).then_some(false),
            Self::Complete(complete) => (state.is_spinning && complete.waits(window)).then_some(false),
            Self::Wait(_) => WaitSync::waits(state, window).then_some(false),
            _ => None,
        }
    }

    /// Whether a poll changes nothing that is known of the window outside the engine, and raises nothing.
    pub(crate) fn keeps(&self, window: &WindowState) -> bool {
        match self {
            Self::Flush(_) => window.error.is_none(),
            Self::Fence(fence) => fence.keeps(window),
            _ => false,
        }
    }

    /// Advances; answers whether the call is over.
    ///
    /// # Errors
    /// Those of the call.
    pub(crate) fn poll(
        &mut self,
        channel: &mut dyn Channel,
        state: &mut State,
        window: &mut WindowState,
        host: &dyn Host,
    ) -> Result<bool> {
        match self {
            Self::Done | Self::Held | Self::Revoked => Ok(true),
            Self::Fence(fence) => fence.poll(state, window, host),
            Self::Lock(lock) => lock.poll(state, window),
            Self::Unlock(unlock) => unlock.poll(state, window),
            Self::Flush(flush) => flush.poll(state, window),
            Self::FlushAll(flush) => flush.poll(state, window),
            Self::LockAll(lock) => lock.poll(state, window),
            Self::UnlockAll(unlock) => unlock.poll(state, window),
            Self::Start(start) => start.poll(state, window),
            Self::Complete(complete) => complete.poll(channel, state, window),
            Self::Wait(wait) => wait.poll(state, window),
            Self::Promised(promised) => promised.poll(state, window),
        }
    }
}

impl GivenUp for SyncStep {
    fn advance(
        &mut self,
        channel: &mut dyn Channel,
        state: &mut State,
        window: &mut WindowState,
        host: &dyn Host,
    ) -> Result<bool> {
        self.poll(channel, state, window, host)
    }

    fn end(self: Box<Self>, state: &mut State, window: &mut WindowState) {
        parting::give_up(*self, state, window);
    }

    fn excludes_others(&self) -> bool {
        matches!(self, Self::Fence(_))
    }
}
