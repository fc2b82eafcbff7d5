//! Freeing a window: collective (MPI 3.1 §11.2.5). Own operations done, replies out, all ranks met, every lock given back, then the memory.
//!
//! A release has no answer. It left before its origin came to the meeting, but the meeting may go round by
//! others and overtake it; and it must not find the window gone.
//!
//! When the ranks cannot meet because one is lost, the others may still be within an epoch, and reach this rank's memory without asking:
//! then the window stays, as a ghost (`sync/parting.rs`). So it does when it was revoked, and then no rank is waited for.

use super::Window;
use crate::epoch::Call;
use crate::error::{Error, Result};
use crate::host::{Host, HostRequest};
use crate::progress::Core;
use crate::state::{FastCalls, WindowState, gone};
use crate::sync::is_open;
use std::fmt;
use std::ops::ControlFlow::{Break, Continue};

/// The end of a window under way.
pub struct WindowFree {
    pub(crate) window: Window,
    phase: FreePhase,
}

enum FreePhase {
    Draining,
    Meeting(HostRequest),
    /// All have met; releases may still be under way to here.
    Releasing,
    /// Over but for what others still do with the memory.
    Failing(Error),
    /// The window was revoked: what is in a channel's hands is waited for, and nothing else.
    Leaving,
    /// The window is gone, but for transfers of others to its memory.
    Withdrawing(Option<Error>),
    Over,
}

const CALL: &str = "win_free";

impl WindowFree {
    /// Begins; hands the window back when freeing it is not legal now.
    pub(crate) fn begin(window: Window) -> Result<Self, (Window, Error)> {
        let phase = window.engine().with(|core| {
            core.state.needs_step = true;
            let Some(mut context) = core.windows.borrow(&mut core.state, window.id()) else {
                return Err(gone(CALL));
            };
            let (state, window) = context.split();
            window.shared.access.own_settled();
            match window.is_revoked() {
                true if !window.has_left() => Ok(FreePhase::Leaving),
                _ => window
                    .check_open(CALL)
                    .and_then(|()| window.check(&state.pools, Call::Free, CALL))
                    .map(|()| FreePhase::Draining),
            }
        });
        match phase {
            Ok(phase) => Ok(Self { window, phase }),
            Err(error) => Err((window, error)),
        }
    }

    /// Waits until the window is gone.
    ///
    /// # Errors
    /// As [`WindowFree::poll`].
    pub fn wait(mut self) -> Result<()> {
        let engine = self.window.engine().clone();
        let id = self.window.id();
        let _call = engine.observation().call(CALL, Some(id), None);
        let describe = |core: &Core| engine.waits(core).of_free(id);
        engine.wait(CALL, &describe, &mut |core| Ok(self.poll_in(core)?.then_some(())))
    }

    /// Advances; answers whether the window is gone. Progress of the engine is the caller's business.
    ///
    /// # Errors
    /// When a rank of the group is lost; the window is gone then too. An error of an earlier operation that no
    /// synchronization call has raised is raised here.
    pub fn poll(&mut self) -> Result<bool> {
        let engine = self.window.engine().clone();
        engine.with(|core| self.poll_in(core))
    }

    pub(crate) fn poll_in(&mut self, core: &mut Core) -> Result<bool> {
        let host = self.window.engine().host();
        if core.windows.get(self.window.id()).is_some_and(WindowState::is_revoked) {
            self.phase = leave(std::mem::replace(&mut self.phase, FreePhase::Over), host);
        }
        loop {
            let next = match std::mem::replace(&mut self.phase, FreePhase::Over) {
                FreePhase::Draining => match is_drained(core, &self.window, host) {
                    Ok(false) => Break(FreePhase::Draining),
                    Ok(true) => {
                        core.state.needs_step = true;
                        let started = host.begin_barrier(&self.window.shared().group);
                        Continue(started.map_or_else(FreePhase::Failing, FreePhase::Meeting))
                    }
                    Err(error) => Continue(FreePhase::Failing(error)),
                },
                FreePhase::Meeting(request) => match host.poll(request) {
                    Ok(None) => Break(FreePhase::Meeting(request)),
                    Ok(Some(_)) => Continue(FreePhase::Releasing),
                    Err(error) => Continue(FreePhase::Failing(error)),
                },
                FreePhase::Releasing => {
                    let window = core.windows.get_mut(self.window.id());
                    match window.is_some_and(|window| window.target.is_locked(&window.shared)) {
                        true => Break(FreePhase::Releasing),
                        false => Continue(self.end(core, None)),
                    }
                }
                // The ranks have not met, so others may be in an access: the memory stays until then.
                FreePhase::Failing(error) => match is_accessed(core, &self.window) {
                    true => Break(FreePhase::Failing(error)),
                    false => Continue(self.end(core, Some(error))),
                },
                FreePhase::Leaving => match core.state.leave_revoked(&mut core.windows, self.window.id()) {
                    false => Break(FreePhase::Leaving),
                    true => Continue(FreePhase::Withdrawing(None)),
                },
                FreePhase::Withdrawing(error)
                    if core.state.is_reached(self.window.id(), &mut *core.channel) =>
                {
                    Break(FreePhase::Withdrawing(error))
                }
                FreePhase::Withdrawing(error) => {
                    self.window.engine().observation().forget_window(self.window.id());
                    return error.map_or(Ok(true), |error| Err(error.in_call(CALL)));
                }
                FreePhase::Over => return Ok(true),
            };
            match next {
                Continue(phase) => self.phase = phase,
                Break(phase) => {
                    self.phase = phase;
                    return Ok(false);
                }
            }
        }
    }

    fn end(&self, core: &mut Core, error: Option<Error>) -> FreePhase {
        let shared = self.window.shared();
        // Operations to lost ranks have been abandoned, so every element is idle.
        let late = if error.is_some() {
            core.state.leave_window(&mut core.windows, shared.id)
        } else {
            shared.fence_gate.set_open(false);
            // No lock call gets past this any more, nor any other that needs no engine's lock.
            shared.access.own();
            shared.active.set_calls(FastCalls::default());
            // Ranks that could not come to the meeting's end have said so.
            core.state.notify_parting(&mut core.windows, shared.id, None);
            core.state.remove_window(&mut core.windows, shared.id)
        };
        FreePhase::Withdrawing(error.or(late))
    }
}

/// Goes on when the window was revoked meanwhile: the others are not waited for any more.
fn leave(phase: FreePhase, host: &dyn Host) -> FreePhase {
    match phase {
        FreePhase::Over | FreePhase::Withdrawing(_) => phase,
        FreePhase::Meeting(request) => {
            host.abandon(request);
            FreePhase::Leaving
        }
        FreePhase::Draining | FreePhase::Releasing | FreePhase::Failing(_) | FreePhase::Leaving => {
            FreePhase::Leaving
        }
    }
}

/// Whether channels still read or write the window's memory, or will.
fn is_accessed(core: &mut Core, window: &Window) -> bool {
    let Core { state, windows, .. } = core;
    let Some(entry) = windows.get_mut(window.id()) else { return false };
    entry.target.receiving > 0 || state.replies.owes(window.id(), &state.bulks)
}

/// Whether this rank owes nothing on the window, in either role.
fn is_drained(core: &mut Core, window: &Window, host: &dyn Host) -> Result<bool> {
    let Some(mut context) = core.windows.borrow(&mut core.state, window.id()) else { return Err(gone(CALL)) };
    let (state, entry) = context.split();
    let is_open = is_open(state, entry, host);
    let has_waiters = entry.target.has_waiters() || !entry.rounds.is_empty() || !entry.dropped.is_empty();
    drop(context);
    Ok(is_open? && !has_waiters && !is_accessed(core, window))
}

impl fmt::Debug for WindowFree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowFree").field("window", &self.window).finish_non_exhaustive()
    }
}
