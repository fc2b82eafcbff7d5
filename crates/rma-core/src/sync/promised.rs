//! Waiting for a lock that a call has only promised: that of a rank elsewhere, which is asked for with the first operation on it.
//!
//! A call that needs the lock itself, and no operation, asks for it without one.

use super::lock::want;
use crate::error::Result;
use crate::ids::Rank;
use crate::origin::post::reach;
use crate::state::{State, WindowState};

/// A wait for a promised lock under way.
#[derive(Debug)]
pub(crate) struct PromisedSync {
    rank: Rank,
}

impl PromisedSync {
    /// Begins to wait, in a passive epoch to the rank.
    pub(crate) fn begin(rank: Rank) -> Self {
        Self { rank }
    }

    /// Answers whether the lock is held, or was given back meanwhile.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED` when the rank is lost.
    pub(crate) fn poll(&self, state: &mut State, window: &mut WindowState) -> Result<bool> {
        let Self { rank } = *self;
        if window.shared.node_rank(rank).is_some() || window.epoch.is_granted(rank) {
            return Ok(true);
        }
        if let Some(error) = state.lost_error(&window.shared, rank, "lock") {
            return Err(error);
        }
        // In a lock_all epoch it may not be one of those that are asked for yet.
        if !reach(state, window, rank) {
            return Ok(false);
        }
        if window.epoch.lock(rank).is_none() {
            return Ok(true);
        }
        want(state, window, rank);
        Ok(false)
    }
}
