//! Flush: the operations that were posted before the call are complete, at the target or locally (MPI 3.1 §11.5.4).
//!
//! The goal is a number taken at entry, so operations that other threads post meanwhile do not delay the call (lessons,
//! still there 4). An element that is gone owed nothing, so the flush is over.

use crate::channel::Channel;
use crate::epoch::Reach;
use crate::error::Result;
use crate::ids::Rank;
use crate::origin::issue::Issuer;
use crate::pool::PoolKey;
use crate::state::{State, WindowState};
use smallvec::SmallVec;
use std::sync::atomic::{Ordering::SeqCst, fence};

/// A flush of one target under way.
#[derive(Debug)]
pub(crate) struct FlushSync {
    rank: Rank,
    target: Option<PoolKey>,
    goal: u64,
    reach: Reach,
}

impl FlushSync {
    /// Begins; what there is leaves at once where nothing is due before it: where calls towards the rank are permitted
    /// ([`WindowState::permits_calls`]).
    ///
    /// Direct operations are complete when they return; what is left for them is the order towards the next
    /// rank that this process communicates with (design note, WIN_FLUSH's memory synchronization).
    pub(crate) fn begin(
        channel: &mut dyn Channel,
        state: &mut State,
        window: &mut WindowState,
        rank: Rank,
        reach: Reach,
        permits_calls: bool,
    ) -> Self {
        let Some(target) = window.table.find(&state.pools.targets, rank) else {
            fence(SeqCst);
            return Self { rank, target: None, goal: 0, reach };
        };
        // So there is nothing for a fence to order: nothing went to this rank directly.
        debug_assert!(window.shared.mapped(rank).is_none(), "a mapped rank has no element");
        let State { pools, bulks, by_channel, config, lost, needs_step, .. } = state;
        let element = &mut pools.targets[target];
        let goal = element.push(reach == Reach::Remote);
        let had_said_all = element.has_said_all() && window.is_granted(rank);
        // In a window with something due it is the next step's to decide what leaves first.
        let may_issue = !window.needs_issue && lost.is_empty() && permits_calls;
        if may_issue && element.holds_a_store(&pools.ops) {
            window.eager.on_taken(reach);
        } else if may_issue {
            window.eager.on_flush(rank, reach, had_said_all);
        }
        let has_said_all = had_said_all
            || (may_issue && Issuer { window, pools, bulks, channel, by_channel, config }.issue_to(target));
        if !has_said_all {
            window.needs_issue = true;
            *needs_step = true;
        }
        Self { rank, target: Some(target), goal, reach }
    }

    /// Answers whether the flush is over.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED` when the target is lost, whatever was outstanding.
    pub(crate) fn poll(&self, state: &State, window: &WindowState) -> Result<bool> {
        match state.lost_error(&window.shared, self.rank, "flush") {
            None => Ok(self.is_over(state)),
            Some(error) => Err(error),
        }
    }

    /// Whether the operations are complete, whatever has become of the target.
    #[inline]
    pub(super) fn is_over(&self, state: &State) -> bool {
        let Some(target) = self.target.and_then(|key| state.pools.targets.get(key)) else { return true };
        match self.reach {
            Reach::Local => target.is_locally_complete(&state.pools.ops, self.goal),
            Reach::Remote => target.is_complete(&state.pools.ops, self.goal),
        }
    }
}

/// A flush of all targets under way.
#[derive(Debug)]
pub(crate) struct FlushAllSync {
    /// The elements that existed at entry, with the order to wait for.
    goals: SmallVec<[(PoolKey, u64); 6]>,
    reach: Reach,
}

impl FlushAllSync {
    pub(crate) fn begin(state: &mut State, window: &mut WindowState, reach: Reach) -> Self {
        fence(SeqCst);
        let keys = window.table.keys(&state.pools.targets);
        window.needs_issue |= !keys.is_empty();
        let goals = keys
            .into_iter()
            .map(|key| (key, state.pools.targets[key].push(reach == Reach::Remote)))
            .collect();
        Self { goals, reach }
    }

    /// Answers whether the flush is over.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED` when a target is lost that the epoch depends on, whatever was outstanding.
    pub(crate) fn poll(&mut self, state: &State, window: &WindowState) -> Result<bool> {
        let reach = self.reach;
        self.goals.retain(|(key, goal)| match (state.pools.targets.get(*key), reach) {
            (None, _) => false,
            (Some(target), Reach::Local) => !target.is_locally_complete(&state.pools.ops, *goal),
            (Some(target), Reach::Remote) => !target.is_complete(&state.pools.ops, *goal),
        });
        if !self.goals.is_empty() {
            return Ok(false);
        }
        let node_rank = window.shared.node_ranks().filter(|node_rank| node_rank.gate.is_locked());
        let locked =
            window.epoch.locks().map(|(rank, _)| rank).chain(node_rank.map(|node_rank| node_rank.rank));
        let lost = locked.into_iter().find_map(|rank| state.lost_error(&window.shared, rank, "flush_all"));
        lost.or_else(|| window.lost.clone()).map_or(Ok(true), Err)
    }
}
