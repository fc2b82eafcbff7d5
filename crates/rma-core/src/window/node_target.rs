//! Unlocking node targets, and completing what is under way to them: ranks of the node whose lock is a word, and whose memory is reached
//! by packets ([`crate::state::NodeRank`]).

use super::slow_sync::wake_waiters;
use super::sync_call::finish;
use super::{Sync, Window, slow_sync};
use crate::control::Wake;
use crate::epoch::{Call, Reach};
use crate::error::Result;
use crate::ids::Rank;
use crate::progress::Core;
use crate::state::{NodeRank, Single, State};
use crate::sync::{FlushSync, SyncStep};

/// What an unlock call has found.
enum Found {
    /// Nothing was left to wait for.
    Released(Option<Wake>),
    /// Operations are to be complete first.
    Waits(FlushSync),
    /// More than that.
    SlowPath,
}

/// [`Window::unlock`] of a node target, if it only waits for operations; otherwise `None`, and nothing done.
pub(super) fn unlock_node_target(handle: &Window, target: Rank) -> Option<Result<()>> {
    let is_locked = |node_rank: &&NodeRank| matches!(node_rank.gate.single(), Single::Held(_));
    let node_rank = handle.shared().fast_node_target(target).filter(is_locked)?;
    let mut found = handle.engine().with(|core| release(handle, core, node_rank));
    if let Found::Waits(flush) = found {
        let mut sync = Sync(SyncStep::Flush(flush), Call::Unlock(target), None);
        if let Err(error) = finish(handle, "unlock", &mut sync) {
            // The lock goes back whatever has become of the operations.
            let _same = slow_sync::unlock(handle, target);
            return Some(Err(error));
        }
        found = handle.engine().with(|core| release(handle, core, node_rank));
    }
    match found {
        Found::Released(None) => handle.poll_throttled(),
        Found::Released(wake) => wake_waiters(handle, wake),
        Found::Waits(_) | Found::SlowPath => return Some(slow_sync::unlock(handle, target)),
    }
    Some(Ok(()))
}

/// Completes what is under way to a node target, if there is one.
///
/// # Errors
/// What has become of it.
pub(super) fn flush_node_target(handle: &Window, call: &'static str) -> Result<()> {
    if handle.shared().node_targets.is_empty() {
        return Ok(());
    }
    let started = handle.engine().with(|core| {
        let Core { channel, state, windows, .. } = core;
        windows.operate(handle.id(), |window| {
            let targets = &state.pools.targets;
            let find = |rank| window.table.find(targets, rank);
            let is_busy =
                |node_rank: &&NodeRank| find(node_rank.rank).is_some_and(|key| !targets[key].is_idle());
            let rank = handle.shared().node_targets.iter().find(is_busy)?.rank;
            let is_plain = state.lost.is_empty() && window.permits_calls(rank);
            is_plain.then(|| FlushSync::begin(&mut **channel, state, window, rank, Reach::Remote, true))
        })
    });
    started.map_or(Ok(()), |flush| {
        finish(handle, call, &mut Sync(SyncStep::Flush(flush), Call::UnlockAll, None))
    })
}

/// Releases the lock if nothing is under way to the rank, or makes everything leave.
fn release(handle: &Window, core: &mut Core, node_rank: &NodeRank) -> Found {
    let Core { channel, state, windows, .. } = core;
    let found = windows.operate(handle.id(), |window| {
        if !window.permits_calls(node_rank.rank) || !state.lost.is_empty() {
            return None;
        }
        let State { pools, .. } = &*state;
        let target = window.table.find(&pools.targets, node_rank.rank).map(|key| &pools.targets[key]);
        if target.is_none_or(|target| target.is_complete(&pools.ops, target.posted)) {
            return handle.shared().unlock(node_rank).map(Found::Released);
        }
        Some(Found::Waits(FlushSync::begin(
            &mut **channel,
            state,
            window,
            node_rank.rank,
            Reach::Remote,
            true,
        )))
    });
    found.unwrap_or(Found::SlowPath)
}
