//! Flush: the operations that were posted before the call are complete, at the target or locally (MPI 3.1 §11.5.4).
//!
//! The goal is a number taken at entry, so operations that other threads post meanwhile do not delay the call (lessons,
//! still there 4). An element that is gone owed nothing, so the flush is over.

use crate::error::Result;
use crate::ids::Rank;
use crate::origin::lost::error_of;
use crate::pool::PoolKey;
use crate::progress::State;
use crate::window::WindowState;
use std::sync::atomic::{Ordering::SeqCst, fence};

/// How far a flush goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The user's buffers may be reused.
    Local,
    /// The operations have been executed at the target.
    Remote,
}

/// A flush of one target under way.
#[derive(Debug)]
pub(crate) struct FlushSync {
    rank: Rank,
    target: Option<PoolKey>,
    goal: u64,
    reach: Reach,
}

impl FlushSync {
    /// Direct operations are complete when they return; what is left for them is the order towards whoever this process
    /// talks to next (design note, WIN_FLUSH's memory synchronization).
    pub(crate) fn begin(state: &mut State, window: &mut WindowState, rank: Rank, reach: Reach) -> Self {
        fence(SeqCst);
        let target = window.table.find(&state.pools.targets, rank);
        let goal = target.map_or(0, |key| state.pools.targets[key].push(reach == Reach::Remote));
        window.dirty |= target.is_some();
        Self { rank, target, goal, reach }
    }

    /// Answers whether the flush is over.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED` when the target is lost, whatever was outstanding.
    pub(crate) fn poll(&self, state: &State, window: &WindowState) -> Result<bool> {
        if let Some(failure) = state.lost.get(&window.shared.group.peer(self.rank)) {
            return Err(error_of(self.rank, "flush", failure));
        }
        let Some(target) = self.target.and_then(|key| state.pools.targets.get(key)) else { return Ok(true) };
        Ok(match self.reach {
            Reach::Local => target.is_locally_complete(&state.pools.ops, self.goal),
            Reach::Remote => target.is_complete(&state.pools.ops, self.goal),
        })
    }
}
