//! Freeing a window: collective (MPI 3.1 §11.2.5), own operations done, replies out, everybody met, then the memory.

use super::calls::{Window, gone};
use crate::epoch::{Call, is_open};
use crate::error::{Error, Result};
use crate::host::{Host, HostRequest};
use crate::origin::post::free_idle_targets;
use crate::progress::Core;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

/// The end of a window under way.
pub struct WindowFree {
    window: Window,
    phase: Phase,
}

enum Phase {
    Draining,
    Meeting(HostRequest),
    Over,
}

const CALL: &str = "win_free";

impl WindowFree {
    /// Begins; hands the window back when freeing it is not legal now.
    pub(crate) fn begin(window: Window) -> Result<Self, (Window, Error)> {
        let legal = window.engine().with(|core| {
            core.state.begun = true;
            let state = core.state.windows.get_mut(window.id());
            state.map_or_else(|| Err(gone(CALL)), |state| state.check(Call::Free, CALL))
        });
        match legal {
            Ok(()) => Ok(Self { window, phase: Phase::Draining }),
            Err(error) => Err((window, error)),
        }
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
        if matches!(self.phase, Phase::Draining) {
            match is_drained(core, &self.window, host) {
                Ok(false) => return Ok(false),
                Ok(true) => {}
                Err(error) => return self.end(core, Some(error)),
            }
            core.state.begun = true;
            match host.begin_barrier(&self.window.shared().group) {
                Ok(request) => self.phase = Phase::Meeting(request),
                Err(error) => return self.end(core, Some(error)),
            }
        }
        let Phase::Meeting(request) = self.phase else { return Ok(true) };
        match host.poll(request) {
            Ok(None) => Ok(false),
            Ok(Some(_)) => self.end(core, None),
            Err(error) => self.end(core, Some(error)),
        }
    }

    fn end(&mut self, core: &mut Core, error: Option<Error>) -> Result<bool> {
        self.phase = Phase::Over;
        let shared = self.window.shared();
        shared.open_to_all.store(false, Relaxed);
        let state = &mut core.state;
        let late = state.windows.remove(shared.id).and_then(|mut window| {
            // Operations to lost ranks have been abandoned, so every element is idle and the shares come back whole.
            free_idle_targets(state, &mut window);
            let ops = state.pools.ops.close_share(window.op_share);
            let targets = state.pools.targets.close_share(window.target_share);
            debug_assert!(
                ops.is_ok() && targets.is_ok(),
                "elements are in use in a window that has been freed"
            );
            window.error
        });
        match error.or(late) {
            None => Ok(true),
            Some(error) => Err(error.in_call(CALL)),
        }
    }
}

/// Whether this rank owes nothing on the window, in either role.
fn is_drained(core: &mut Core, window: &Window, host: &dyn Host) -> Result<bool> {
    let state = &mut core.state;
    let Some(mut entry) = state.windows.take(window.id()) else { return Err(gone(CALL)) };
    let is_open = is_open(&mut entry, &mut state.pools, host);
    let is_quiet = entry.target.receiving == 0
        && !entry.target.has_waiters()
        && !state.replies.owes(window.id(), &state.bulks);
    state.windows.put_back(entry);
    Ok(is_open? && is_quiet)
}

impl fmt::Debug for WindowFree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowFree").field("window", &self.window).finish_non_exhaustive()
    }
}
