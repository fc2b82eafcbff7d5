//! Unlocking neighbors, and completing what is under way to them: ranks of the node whose lock is a word, and whose memory is reached
//! by packets ([`crate::state::Near`]).

use super::Sync;
use super::calls::Window;
use crate::control::Wake;
use crate::epoch::{Call, Reach};
use crate::error::Result;
use crate::ids::Rank;
use crate::progress::Core;
use crate::state::{Near, Single, State};
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

impl Window {
    /// [`Window::unlock`] of a neighbor, if it only waits for operations; otherwise `None`, and nothing done.
    pub(super) fn unlock_neighbor(&self, target: Rank) -> Option<Result<()>> {
        let is_locked = |near: &&Near| matches!(near.gate.single(), Single::Held(_));
        let near = self.shared().quick_neighbor(target).filter(is_locked)?;
        let mut found = self.engine().with(|core| self.release(core, near));
        if let Found::Waits(flush) = found {
            let mut sync = Sync(SyncStep::Flush(flush), Call::Unlock(target), None);
            if let Err(error) = self.finish("unlock", &mut sync) {
                // The lock goes back whatever has become of the operations.
                let _same = self.unlock_slowly(target);
                return Some(Err(error));
            }
            found = self.engine().with(|core| self.release(core, near));
        }
        match found {
            Found::Released(None) => self.poll_now_and_then(),
            Found::Released(wake) => self.wake(wake),
            Found::Waits(_) | Found::SlowPath => return Some(self.unlock_slowly(target)),
        }
        Some(Ok(()))
    }

    /// Completes what is under way to a neighbor, if there is one.
    ///
    /// # Errors
    /// What has become of it.
    pub(super) fn flush_neighbor(&self, call: &'static str) -> Result<()> {
        if self.shared().neighbors.is_empty() {
            return Ok(());
        }
        let begun = self.engine().with(|core| {
            let Core { channel, state, windows, .. } = core;
            windows.operate(self.id(), |window| {
                let targets = &state.pools.targets;
                let find = |rank| window.table.find(targets, rank);
                let is_busy = |near: &&Near| find(near.rank).is_some_and(|key| !targets[key].is_idle());
                let rank = self.shared().neighbors.iter().find(is_busy)?.rank;
                let is_plain = state.lost.is_empty() && window.permits_calls(rank);
                is_plain.then(|| FlushSync::begin(&mut **channel, state, window, rank, Reach::Remote, true))
            })
        });
        begun.map_or(Ok(()), |flush| {
            self.finish(call, &mut Sync(SyncStep::Flush(flush), Call::UnlockAll, None))
        })
    }

    /// Releases the lock if nothing is under way to the rank, or makes everything leave.
    fn release(&self, core: &mut Core, near: &Near) -> Found {
        let Core { channel, state, windows, .. } = core;
        let found = windows.operate(self.id(), |window| {
            if !window.permits_calls(near.rank) || !state.lost.is_empty() {
                return None;
            }
            let State { pools, .. } = &*state;
            let target = window.table.find(&pools.targets, near.rank).map(|key| &pools.targets[key]);
            if target.is_none_or(|target| target.is_complete(&pools.ops, target.posted)) {
                return self.shared().unlock(near).map(Found::Released);
            }
            Some(Found::Waits(FlushSync::begin(
                &mut **channel,
                state,
                window,
                near.rank,
                Reach::Remote,
                true,
            )))
        });
        found.unwrap_or(Found::SlowPath)
    }
}
