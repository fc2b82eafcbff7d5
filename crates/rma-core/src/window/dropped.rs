//! What becomes of a synchronization call that was begun and is given up: a [`Sync`] that is dropped before it is over.
//!
//! Lock word, line and other ranks know nothing of Rust's values, so this completes or undoes what the call has done:
//!
//! * A call that opens an epoch is undone. A lock that was not held yet leaves the window as if it had not been called for;
//!   lock_all gives back what it held; start keeps the posts that it has seen for the next one. A place in line cannot be
//!   left, or the line would stop there: the engine waits in it, and gives the lock back in the moment in which it comes.
//! * A call that ends an epoch, and a fence, which others are in, goes on: the engine drives it, and what goes wrong is
//!   raised by a later call, as with errors that arrive. Blocking calls on the window first wait until it is over. A call that
//!   is begun is legal or not as beside any call under way; behind a fence none is, since fences have no other order.
//! * A flush and a wait have changed nothing.
//!
//! An epoch of a fence that the call has replaced stays replaced. One whose `Sync` is forgotten instead of dropped, or kept and
//! not polled, is a call that has not returned: it keeps its place.

use super::{Sync, Window};
use crate::engine::WeakEngine;
use crate::epoch::Call;
use crate::error::Result;
use crate::fork;
use crate::ids::WindowId;
use crate::progress::Core;
use crate::state::gone;
use crate::sync::{StartSync, SyncStep, parting};
use std::sync::atomic::Ordering::Relaxed;

/// What a begun call needs to be given up.
#[derive(Debug)]
pub(crate) struct GiveUpGuard {
    engine: WeakEngine,
    id: WindowId,
}

impl Sync {
    /// Gives the call up when the value is dropped before it is over.
    pub(super) fn guarded(mut self, window: &Window) -> Self {
        if !self.is_over() {
            self.2 = Some(GiveUpGuard { engine: window.engine().downgrade(), id: window.id() });
        }
        self
    }
}

impl Drop for Sync {
    fn drop(&mut self) {
        // What a forked child drops goes on in its parent.
        if let Some(guard) = self.2.take()
            && !self.is_over()
            && !fork::is_child()
        {
            guard.give_up(std::mem::replace(&mut self.0, SyncStep::Done), self.1);
        }
    }
}

impl GiveUpGuard {
    fn give_up(self, step: SyncStep, call: Call) {
        let Some(engine) = self.engine.upgrade() else { return };
        engine.with(|core| {
            let Core { state, windows, .. } = core;
            let Some(mut context) = windows.borrow(state, self.id) else { return };
            let (state, window) = context.split();
            window.shared.access.own_settled();
            match step {
                SyncStep::Done
                | SyncStep::Revoked
                | SyncStep::Held
                | SyncStep::Flush(_)
                | SyncStep::FlushAll(_)
                | SyncStep::Promised(_)
                | SyncStep::Wait(_) => {}
                step if window.is_revoked() => parting::give_up(step, state, window),
                SyncStep::Lock(lock) => lock.give_up(window),
                SyncStep::LockAll(mut lock) => lock.give_up(state, window),
                SyncStep::Start(_) => StartSync::give_up(window),
                SyncStep::Fence(_) | SyncStep::Unlock(_) | SyncStep::UnlockAll(_) | SyncStep::Complete(_) => {
                    window.go_on_with(step);
                }
            }
            // Other threads may have waited for the window's state, and the step that follows for what was begun.
            (state.must_notify, state.needs_step) = (true, true);
            engine.observation().look_at_epochs(window, call);
        });
        // A thread that waits for a lock that was given back is woken now.
        engine.poll();
    }
}

/// Waits until no call goes on that was given up: blocking calls come behind it.
///
/// # Errors
/// When the window is gone.
#[inline]
pub(super) fn settle_dropped(handle: &Window, name: &'static str) -> Result<()> {
    if handle.shared().has_dropped.load(Relaxed) { wait_for_dropped(handle, name) } else { Ok(()) }
}

#[cold]
fn wait_for_dropped(handle: &Window, name: &'static str) -> Result<()> {
    let (id, observation) = (handle.id(), handle.engine().observation());
    let describe = |_: &Core| {
        format!("the end of a call that was begun and dropped ({})", observation.describe_window(id)).into()
    };
    handle.engine().wait(name, &describe, &mut |core| match core.windows.get(id) {
        None => Err(gone(name)),
        Some(window) => Ok((!window.dropped.has_steps()).then_some(())),
    })
}
