//! The window's synchronization calls (MPI 3.1 §11.5), and those that make windows and end them.
//!
//! Each call waits: it first takes the fast path (`fast_sync.rs`), which asks little of a window, and else drives the engine until the steps
//! are over that the same call of [`super::requests`] only begins. Groups are lists of ranks, in any order, without repetition, also empty or
//! with the caller among them. A call that needs no packet still polls the channels now and then, so that a loop of such calls serves its
//! peers (lessons, fixed 27).

use super::dropped::settle_dropped;
use super::fast_sync::{HeldInVain, Released, release_all};
use super::node_target::{flush_node_target, unlock_node_target};
use super::slow_sync::{sorted, wake_waiters};
use super::sync_call::{CallContext, advance, begin, finish};
use super::{Sync, Window, WindowCreation, WindowSpec, fast_sync, slow_sync};
use crate::engine::Engine;
use crate::epoch::{Assert, Call, Caller, LockKind, Reach};
use crate::error::{Error, Result};
use crate::host::Group;
use crate::ids::Rank;
use crate::progress::Core;
use crate::state::Hints;
use crate::sync::{SyncStep, WaitSync, expose};
use crate::trace::CallSpan;
use std::sync::atomic::{Ordering::SeqCst, fence};

impl Engine {
    /// Begins a collective window creation over `group`; see [`WindowCreation::poll`].
    ///
    /// # Errors
    /// When a member of the group is known to be lost.
    pub fn begin_window(&self, group: Group, spec: WindowSpec) -> Result<WindowCreation> {
        self.begin_window_with(group, spec, Hints::default())
    }

    /// [`Engine::begin_window`] with hints.
    ///
    /// # Errors
    /// As [`Engine::begin_window`].
    pub fn begin_window_with(&self, group: Group, spec: WindowSpec, hints: Hints) -> Result<WindowCreation> {
        WindowCreation::begin(self.clone(), group, spec, hints)
    }

    /// Creates a window, collectively over `group`.
    ///
    /// # Errors
    /// As [`WindowCreation::poll`].
    pub fn create_window(&self, group: Group, spec: WindowSpec) -> Result<Window> {
        self.create_window_with(group, spec, Hints::default())
    }

    /// [`Engine::create_window`] with hints.
    ///
    /// # Errors
    /// As [`WindowCreation::poll`].
    pub fn create_window_with(&self, group: Group, spec: WindowSpec, hints: Hints) -> Result<Window> {
        let creation = self.begin_window_with(group, spec, hints)?;
        self.await_window(creation)
    }

    /// Takes part in a window creation with arguments that the caller has found wrong, so that the other ranks of `group` get
    /// an error and do not wait; gives the error to report here: `fault`, or what kept this rank from taking part.
    pub fn refuse_window(&self, group: Group, fault: Error) -> Error {
        let creation = WindowCreation::begin_faulty(self.clone(), group, fault);
        match creation.and_then(|creation| self.await_window(creation)) {
            Err(error) => error,
            Ok(window) => unreachable!("{window:?} was made in spite of a fault"),
        }
    }

    fn await_window(&self, mut creation: WindowCreation) -> Result<Window> {
        let _call = self.observation().call("win_create", None, None);
        let (group, number) = (creation.group().clone(), creation.number());
        let describe = |core: &Core| self.waits(core).of_creation(&group, number);
        self.wait("win_create", &describe, &mut |core| creation.poll_in(core))
    }
}

impl Window {
    /// `MPI_Win_fence` (MPI 3.1 §11.5.1): completes all operations of the epoch, on all ranks, and opens the next.
    ///
    /// # Errors
    /// `MPI_ERR_ASSERT`, `MPI_ERR_RMA_SYNC` while locks are held; errors of operations since the last synchronization.
    pub fn fence(&self, assert: Assert) -> Result<()> {
        match fast_sync::fence(self, assert) {
            Some(outcome) => outcome,
            None => slow_sync::fence(self, assert),
        }
    }

    /// `MPI_Win_post` (MPI 3.1 §11.5.2): opens an exposure epoch to the ranks of `group`. Never waits for them.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_GROUP`, `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` while an exposure epoch is open; errors of
    /// operations since the last synchronization.
    pub fn post_to(&self, group: &[Rank], assert: Assert) -> Result<()> {
        if fast_sync::post(self, group, assert) {
            return Ok(());
        }
        let _call = self.trace("post", None);
        self.try_post_to(group, assert)?;
        // The origins are notified now: the caller may compute for long.
        self.engine().poll();
        Ok(())
    }

    /// [`Window::post_to`] without a step of the engine, which the caller has to see to.
    ///
    /// # Errors
    /// As [`Window::post_to`].
    pub fn try_post_to(&self, group: &[Rank], assert: Assert) -> Result<()> {
        let legal = Assert::NO_CHECK.with(Assert::NO_STORE).with(Assert::NO_PUT);
        let assert = assert.checked("post", legal)?;
        let group = sorted(self, group, "post")?;
        begin(self, Call::Post, "post", |CallContext { state, window, .. }| {
            window.raise("post")?;
            expose(state, window, &group, assert.has(Assert::NO_CHECK))?;
            Ok(SyncStep::Done)
        })
        .map(drop)
    }

    /// `MPI_Win_start` (MPI 3.1 §11.5.2): opens an access epoch to the ranks of `group`. Waits only for the posts of ranks
    /// whose memory is mapped here.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_GROUP`, `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` while another access epoch is open; errors of
    /// operations since the last synchronization; `MPIX_ERR_PROC_FAILED`.
    pub fn start(&self, group: &[Rank], assert: Assert) -> Result<()> {
        if fast_sync::start(self, group, assert) {
            return Ok(());
        }
        let _call = self.trace("start", None);
        settle_dropped(self, "start")?;
        let mut sync = slow_sync::begin_start(self, group, assert)?;
        if matches!(sync.0, SyncStep::Held) {
            self.poll_throttled();
            return Ok(());
        }
        finish(self, "start", &mut sync)
    }

    /// `MPI_Win_complete` (MPI 3.1 §11.5.2): completes the epoch's operations at the origin, notifies the
    /// targets, and ends the epoch. The operations are complete at a target when its wait call returns.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` without an epoch of start; errors of operations that are known by then; `MPIX_ERR_PROC_FAILED` when
    /// a target is lost.
    pub fn complete(&self) -> Result<()> {
        if fast_sync::complete(self) {
            return Ok(());
        }
        let _call = self.trace("complete", None);
        settle_dropped(self, "complete")?;
        let mut sync = slow_sync::begin_complete(self)?;
        finish(self, "complete", &mut sync)
    }

    /// `MPI_Win_wait` (MPI 3.1 §11.5.2): ends the exposure epoch when every origin of its group has called complete.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` without an exposure epoch; `MPIX_ERR_PROC_FAILED` when an origin is lost that was not done.
    pub fn wait(&self) -> Result<()> {
        if fast_sync::wait(self, false) {
            return Ok(());
        }
        let _call = self.trace("wait", None);
        settle_dropped(self, "wait")?;
        let mut sync = self.begin_wait()?;
        finish(self, "wait", &mut sync)
    }

    /// `MPI_Win_test` (MPI 3.1 §11.5.2): as [`Window::wait`] if every origin is done, else answers `false` and changes nothing.
    ///
    /// # Errors
    /// As [`Window::wait`].
    pub fn test(&self) -> Result<bool> {
        if fast_sync::wait(self, true) {
            return Ok(true);
        }
        let _call = self.trace("test", None);
        self.engine().poll();
        let mut sync = begin(self, Call::Wait, "test", |CallContext { window, .. }| {
            Ok(SyncStep::Wait(WaitSync::begin(window)))
        })?;
        self.poll_sync(&mut sync).map_err(|error| error.in_call("test"))
    }

    /// `MPI_Win_lock` (MPI 3.1 §11.5.3): opens an access epoch to `target`; none to [`Rank::NULL`].
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_ASSERT`, `MPI_ERR_RMA_SYNC` when the rank is locked or another kind of epoch is open.
    #[inline]
    pub fn lock(&self, kind: LockKind, target: Rank, assert: Assert) -> Result<()> {
        // Before there is a lock to hold: a poll takes time, and may yield.
        self.poll_throttled();
        if let Some(node_rank) = self.shared().fast_node_rank(target)
            && (assert == Assert::NONE || assert == Assert::NO_CHECK)
            && self.shared().try_lock(node_rank, kind, assert == Assert::NO_CHECK)
        {
            return Ok(());
        }
        slow_sync::lock(self, kind, target, assert)
    }

    /// `MPI_Win_unlock` (MPI 3.1 §11.5.3): completes the epoch's operations at origin and target, and closes it.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_RMA_SYNC` when the rank is not locked; errors of the epoch's operations.
    #[inline]
    pub fn unlock(&self, target: Rank) -> Result<()> {
        match self.shared().fast(target).and_then(|mapped| self.shared().try_unlock(mapped)) {
            Some(None) => self.poll_throttled(),
            Some(wake) => wake_waiters(self, wake),
            None => {
                return unlock_node_target(self, target).unwrap_or_else(|| slow_sync::unlock(self, target));
            }
        }
        Ok(())
    }

    /// `MPI_Win_flush` (MPI 3.1 §11.5.4): the operations to `target` so far are complete at origin and target.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_RMA_SYNC` without a passive epoch to the rank; errors of its operations.
    #[inline]
    pub fn flush(&self, target: Rank) -> Result<()> {
        slow_sync::flush(self, target, "flush", Reach::Remote)
    }

    /// `MPI_Win_flush_local` (MPI 3.1 §11.5.4): the buffers of the operations to `target` so far may be reused.
    ///
    /// # Errors
    /// As [`Window::flush`].
    #[inline]
    pub fn flush_local(&self, target: Rank) -> Result<()> {
        slow_sync::flush(self, target, "flush_local", Reach::Local)
    }

    /// `MPI_Win_lock_all` (MPI 3.1 §11.5.3): opens a shared access epoch to every rank of the window. Locks of mapped ranks
    /// are held when the call returns, those of others before the first operation on them is carried out.
    ///
    /// # Errors
    /// `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` when locks are held or another kind of epoch is open.
    pub fn lock_all(&self, assert: Assert) -> Result<()> {
        if fast_sync::lock_all(self, assert) {
            return Ok(());
        }
        let _call = self.trace("lock_all", None);
        settle_dropped(self, "lock_all")?;
        let mut sync = slow_sync::begin_lock_all(self, Caller::thread(), assert)?;
        if sync.is_over() {
            self.poll_throttled();
            return Ok(());
        }
        finish(self, "lock_all", &mut sync)
    }

    /// `MPI_Win_unlock_all` (MPI 3.1 §11.5.3): completes all operations of the epoch at origin and targets, and closes it.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` without a lock_all epoch; errors of the epoch's operations, `MPIX_ERR_PROC_FAILED` when a target
    /// is lost that it depended on.
    pub fn unlock_all(&self) -> Result<()> {
        if fast_sync::unlock_all(self) {
            return Ok(());
        }
        let _call = self.trace("unlock_all", None);
        let flushed = flush_node_target(self, "unlock_all");
        if flushed.is_ok() && !self.shared().node_targets.is_empty() && fast_sync::unlock_all(self) {
            return Ok(());
        }
        settle_dropped(self, "unlock_all")?;
        let started = slow_sync::begin_unlock_all(self);
        // The locks go back whatever has become of the store.
        flushed.and(slow_sync::finish_release(self, "unlock_all", started))
    }

    /// `MPI_Win_flush_all` (MPI 3.1 §11.5.4): all operations so far are complete at origin and targets.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` without a passive epoch; errors of the operations, `MPIX_ERR_PROC_FAILED` when a target is lost
    /// that the epoch depends on.
    #[inline]
    pub fn flush_all(&self) -> Result<()> {
        slow_sync::flush_all(self, "flush_all", Reach::Remote)
    }

    /// `MPI_Win_flush_local_all` (MPI 3.1 §11.5.4): the buffers of all operations so far may be reused.
    ///
    /// # Errors
    /// As [`Window::flush_all`].
    #[inline]
    pub fn flush_local_all(&self) -> Result<()> {
        slow_sync::flush_all(self, "flush_local_all", Reach::Local)
    }

    /// `MPI_Win_sync` (MPI 3.1 §11.5.4): orders this process's loads and stores before the call before those after it. In the
    /// unified memory model, the only one here, there is nothing else to it.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` without a passive epoch.
    pub fn sync(&self) -> Result<()> {
        if !self.shared().own().gate.is_locked() {
            let _over = begin(self, Call::Sync, "win_sync", |CallContext { window, .. }| {
                window.raise("win_sync").map(|()| SyncStep::Done)
            })?;
        }
        fence(SeqCst);
        self.poll_throttled();
        Ok(())
    }

    /// Gives locks back that [`super::DirectPath::try_lock_all`] has taken in vain.
    pub fn give_back(&self, HeldInVain(held): HeldInVain) {
        release_all(self, 0, held);
    }

    /// Ends [`super::DirectPath::try_unlock_all`].
    pub fn end_unlock_all(&self, Released { ranks, wake }: Released) {
        wake_waiters(self, Some(wake));
        release_all(self, ranks, usize::MAX);
    }

    /// Advances a synchronization call; answers whether it is over. Progress of the engine is the caller's business.
    ///
    /// # Errors
    /// Those of the call.
    pub fn poll_sync(&self, sync: &mut Sync) -> Result<bool> {
        self.engine().with(|core| advance(self, core, sync, "synchronization"))
    }

    /// Ends the window, collectively (MPI 3.1 §11.2.5). No rank of the group may be in an epoch on it.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` while locks are held or operations are incomplete; the window then stays.
    pub fn free(self) -> Result<()> {
        settle_dropped(&self, "win_free")?;
        self.begin_free().map_err(|(_, error)| error)?.wait()
    }

    /// A call on this window begins, for the observer; it ends when the answer is dropped.
    #[inline]
    pub(crate) fn trace(&self, call: &'static str, target: Option<Rank>) -> CallSpan<'_> {
        self.engine().observation().call(call, Some(self.id()), target)
    }

    /// [`Engine::poll_throttled`], which does not yield while it holds a lock alone: others need that.
    #[inline]
    pub(crate) fn poll_throttled(&self) {
        if !self.engine().pass_poll() {
            poll_holding(self);
        }
    }
}

#[cold]
fn poll_holding(handle: &Window) {
    handle.engine().poll_due(&|| !handle.shared().holds_alone());
}
