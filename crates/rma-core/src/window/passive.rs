//! The window's passive synchronization calls on all targets at once (MPI 3.1 §11.5.3, §11.5.4), blocking and as steps.

use super::Sync;
use super::calls::Window;
use super::sync_call::CallContext;
use crate::epoch::{Assert, Call, Caller, Reach};
use crate::error::Result;
use crate::sync::{FlushAllSync, LockAllSync, SyncStep, UnlockAllSync};
use std::sync::atomic::{Ordering::SeqCst, fence};

impl Window {
    /// `MPI_Win_lock_all` (MPI 3.1 §11.5.3): opens a shared access epoch to every rank of the window. Locks of mapped ranks
    /// are held when the call returns, those of others before the first operation on them is carried out.
    ///
    /// # Errors
    /// `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` when locks are held or another kind of epoch is open.
    pub fn lock_all(&self, assert: Assert) -> Result<()> {
        if self.lock_all_fast(assert) {
            return Ok(());
        }
        let _call = self.trace("lock_all", None);
        self.settle_dropped("lock_all")?;
        let mut sync = self.lock_all_sync(Caller::thread(), assert)?;
        if sync.is_over() {
            self.poll_throttled();
            return Ok(());
        }
        self.finish("lock_all", &mut sync)
    }

    pub(super) fn lock_all_sync(&self, caller: Caller, assert: Assert) -> Result<Sync> {
        let assert = assert.checked("lock_all", Assert::NO_CHECK)?;
        self.begin_and_poll(Call::LockAll, "lock_all", |state, window| {
            window.raise("lock_all")?;
            let lock = LockAllSync::begin(state, window, assert.has(Assert::NO_CHECK), caller);
            Ok(SyncStep::LockAll(lock))
        })
    }

    /// `MPI_Win_unlock_all` (MPI 3.1 §11.5.3): completes all operations of the epoch at origin and targets, and closes it.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` without a lock_all epoch; errors of the epoch's operations, `MPIX_ERR_PROC_FAILED` when a target
    /// is lost that it depended on.
    pub fn unlock_all(&self) -> Result<()> {
        if self.unlock_all_fast() {
            return Ok(());
        }
        let _call = self.trace("unlock_all", None);
        let flushed = self.flush_node_target("unlock_all");
        if flushed.is_ok() && !self.shared().node_targets.is_empty() && self.unlock_all_fast() {
            return Ok(());
        }
        self.settle_dropped("unlock_all")?;
        let started = self.begin_unlock_all_noting();
        // The locks go back whatever has become of the store.
        flushed.and(self.finish_release("unlock_all", started))
    }

    pub(super) fn begin_unlock_all_noting(&self) -> (Result<Sync>, bool) {
        let mut owes = false;
        let started = self.begin(Call::UnlockAll, "unlock_all", |CallContext { state, window, .. }| {
            let mut sync = UnlockAllSync::begin(state, window);
            let is_over = sync.poll(state, window)?;
            owes = !state.wake_ups.is_empty() || window.is_active();
            if is_over {
                return window.raise("unlock_all").map(|()| SyncStep::Done);
            }
            Ok(SyncStep::UnlockAll(sync))
        });
        (started, owes)
    }

    /// `MPI_Win_flush_all` (MPI 3.1 §11.5.4): all operations so far are complete at origin and targets.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` without a passive epoch; errors of the operations, `MPIX_ERR_PROC_FAILED` when a target is lost
    /// that the epoch depends on.
    #[inline]
    pub fn flush_all(&self) -> Result<()> {
        self.flush_every("flush_all", Reach::Remote)
    }

    /// `MPI_Win_flush_local_all` (MPI 3.1 §11.5.4): the buffers of all operations so far may be reused.
    ///
    /// # Errors
    /// As [`Window::flush_all`].
    #[inline]
    pub fn flush_local_all(&self) -> Result<()> {
        self.flush_every("flush_local_all", Reach::Local)
    }

    /// `MPI_Win_sync` (MPI 3.1 §11.5.4): orders this process's loads and stores before the call before those after it. In the
    /// unified memory model, the only one here, there is nothing else to it.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` without a passive epoch.
    pub fn sync(&self) -> Result<()> {
        if !self.shared().own().gate.is_locked() {
            let _over = self.begin(Call::Sync, "win_sync", |CallContext { window, .. }| {
                window.raise("win_sync").map(|()| SyncStep::Done)
            })?;
        }
        fence(SeqCst);
        self.poll_throttled();
        Ok(())
    }

    #[inline]
    fn flush_every(&self, call: &'static str, reach: Reach) -> Result<()> {
        let shared = self.shared();
        // Everything that was done is complete, and its order is all that is left to see to.
        if shared.are_all_locked() {
            shared.store_fence.order();
            self.poll_throttled();
            return Ok(());
        }
        let _call = self.trace(call, None);
        self.settle_dropped(call)?;
        let mut sync = self.begin_flush_every(call, reach)?;
        self.finish(call, &mut sync)
    }

    pub(super) fn begin_flush_every(&self, call: &'static str, reach: Reach) -> Result<Sync> {
        self.begin(Call::FlushAll, call, |CallContext { state, window, .. }| {
            Ok(SyncStep::FlushAll(FlushAllSync::begin(state, window, reach)))
        })
    }
}
