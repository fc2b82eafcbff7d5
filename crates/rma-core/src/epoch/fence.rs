//! Fence: complete what this rank issued, then meet everybody (design note, "Algorithm for FENCE").
//!
//! Order between the two kinds of memory access, by position in the call (design note, "RMA + shared memory"):
//!
//! ```text
//!    rank 0                                    rank 1
//!    direct and local stores                   direct and local stores
//!    full ordering            (SYNC POINT F1)  full ordering
//!    own packets acknowledged                  own packets acknowledged
//!    barrier ────────────────────────────────── barrier
//!    full ordering            (SYNC POINT F2)  full ordering
//!    direct and local loads                    direct and local loads
//! ```
//!
//! A load after F2 on one rank sees every store before F1 on the other, because the barrier orders F1 before F2. Replies
//! that this rank owes need no wait of their own: their origins enter the barrier only with the data in hand.

use super::state::{Assert, Epoch};
use crate::error::Result;
use crate::host::{Host, HostRequest};
use crate::origin::lost::abandon_unopened;
use crate::origin::post::free_idle_targets;
use crate::progress::{Pools, State};
use crate::window::WindowState;
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst, fence};

/// A fence under way.
#[derive(Debug)]
pub(crate) struct FenceSync {
    assert: Assert,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Waiting for the barrier of an earlier fence that did not wait for it.
    Opening,
    /// Waiting for this rank's operations.
    Completing,
    /// Waiting for the others.
    Meeting(HostRequest),
}

impl FenceSync {
    pub(crate) fn begin(assert: Assert) -> Self {
        // SYNC POINT F1
        fence(SeqCst);
        Self { assert, phase: Phase::Opening }
    }

    /// Advances; answers whether the fence is over.
    pub(crate) fn poll(
        &mut self,
        state: &mut State,
        window: &mut WindowState,
        host: &dyn Host,
    ) -> Result<bool> {
        if matches!(self.phase, Phase::Opening) {
            if !is_open(&mut state.pools, window, host)? {
                return Ok(false);
            }
            for key in window.table.keys(&state.pools.targets) {
                state.pools.targets[key].push(true);
            }
            window.dirty = true;
            self.phase = Phase::Completing;
        }
        if matches!(self.phase, Phase::Completing) {
            if !is_complete(state, window) {
                return Ok(false);
            }
            free_idle_targets(state, window);
            state.begun = true;
            let request = host.begin_barrier(&window.shared.group)?;
            let waits = !self.assert.has(Assert::NO_PRECEDE) || window.shared.maps_others();
            if !waits {
                // Nothing precedes: the barrier only has to be over before the first operation (MPI 3.1 §11.5.1).
                window.opening = Some(request);
                window.epoch.set_fence(Epoch::FenceIssued);
                self.open_direct(window);
                return Ok(true);
            }
            self.phase = Phase::Meeting(request);
        }
        let Phase::Meeting(request) = self.phase else { return Ok(true) };
        if host.poll(request)?.is_none() {
            return Ok(false);
        }
        window.epoch.set_fence(if self.assert.has(Assert::NO_SUCCEED) {
            Epoch::Unset
        } else {
            Epoch::FenceGranted
        });
        self.open_direct(window);
        // SYNC POINT F2
        fence(SeqCst);
        Ok(true)
    }

    fn open_direct(&self, window: &WindowState) {
        let opens = !self.assert.has(Assert::NO_SUCCEED);
        window.shared.open_to_all.store(opens, Relaxed);
    }
}

/// Whether the barrier of an earlier fence is over; moves the window from issued to granted when it is. When it fails, not
/// everybody has opened the epoch or ever will: it ends, with the operations that waited for it.
pub(crate) fn is_open(pools: &mut Pools, window: &mut WindowState, host: &dyn Host) -> Result<bool> {
    let Some(request) = window.opening else { return Ok(true) };
    let outcome = match host.poll(request) {
        Ok(None) => return Ok(false),
        Ok(Some(_)) => Ok(true),
        Err(error) => Err(error),
    };
    window.opening = None;
    window.dirty = true;
    if window.epoch.state() == Epoch::FenceIssued {
        if outcome.is_ok() {
            window.epoch.set_fence(Epoch::FenceGranted);
        } else {
            abandon_unopened(window, pools);
            window.shared.open_to_all.store(false, Relaxed);
            window.epoch.set_fence(Epoch::Unset);
        }
    }
    outcome
}

fn is_complete(state: &State, window: &WindowState) -> bool {
    window.table.keys(&state.pools.targets).into_iter().all(|key| {
        let target = &state.pools.targets[key];
        target.is_complete(&state.pools.ops, target.ack_to)
    })
}
