//! The window's calls of general active target synchronization (MPI 3.1 §11.5.2), blocking and as steps.
//!
//! Groups are lists of ranks, in any order, without repetition, also empty or with the caller among them.

use super::Sync;
use super::calls::Window;
use super::sync_call::CallContext;
use crate::epoch::{Assert, Call};
use crate::error::{Error, ErrorClass, Result};
use crate::ids::Rank;
use crate::sync::{CompleteSync, StartSync, SyncStep, WaitSync, expose};
use smallvec::SmallVec;

impl Window {
    /// `MPI_Win_post` (MPI 3.1 §11.5.2): opens an exposure epoch to the ranks of `group`. Never waits for them.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_GROUP`, `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` while an exposure epoch is open; errors of
    /// operations since the last synchronization.
    pub fn post_to(&self, group: &[Rank], assert: Assert) -> Result<()> {
        if self.post_fast(group, assert) {
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
        let group = self.sorted(group, "post")?;
        self.begin(Call::Post, "post", |CallContext { state, window, .. }| {
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
        if self.start_fast(group, assert) {
            return Ok(());
        }
        let _call = self.trace("start", None);
        self.settle_dropped("start")?;
        let mut sync = self.start_sync(group, assert)?;
        if matches!(sync.0, SyncStep::Held) {
            self.poll_throttled();
            return Ok(());
        }
        self.finish("start", &mut sync)
    }

    pub(super) fn start_sync(&self, group: &[Rank], assert: Assert) -> Result<Sync> {
        let assert = assert.checked("start", Assert::NO_CHECK)?;
        let group = self.sorted(group, "start")?;
        self.begin(Call::Start, "start", |CallContext { state, window, .. }| {
            window.raise("start")?;
            let mut start = StartSync::begin(state, window, &group, assert.has(Assert::NO_CHECK));
            Ok(if start.poll(state, window)? { SyncStep::Held } else { SyncStep::Start(start) })
        })
    }

    /// `MPI_Win_complete` (MPI 3.1 §11.5.2): completes the epoch's operations at the origin, notifies the
    /// targets, and ends the epoch. The operations are complete at a target when its wait call returns.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` without an epoch of start; errors of operations that are known by then; `MPIX_ERR_PROC_FAILED` when
    /// a target is lost.
    pub fn complete(&self) -> Result<()> {
        if self.complete_fast() {
            return Ok(());
        }
        let _call = self.trace("complete", None);
        self.settle_dropped("complete")?;
        let mut sync = self.complete_sync()?;
        self.finish("complete", &mut sync)
    }

    pub(super) fn complete_sync(&self) -> Result<Sync> {
        self.begin(Call::Complete, "complete", |CallContext { state, window, .. }| {
            Ok(SyncStep::Complete(CompleteSync::begin(state, window)))
        })
    }

    /// `MPI_Win_wait` (MPI 3.1 §11.5.2): ends the exposure epoch when every origin of its group has called complete.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` without an exposure epoch; `MPIX_ERR_PROC_FAILED` when an origin is lost that was not done.
    pub fn wait(&self) -> Result<()> {
        if self.wait_fast(false) {
            return Ok(());
        }
        let _call = self.trace("wait", None);
        self.settle_dropped("wait")?;
        let mut sync = self.begin_wait()?;
        self.finish("wait", &mut sync)
    }

    /// `MPI_Win_test` (MPI 3.1 §11.5.2): as [`Window::wait`] if every origin is done, else answers `false` and changes nothing.
    ///
    /// # Errors
    /// As [`Window::wait`].
    pub fn test(&self) -> Result<bool> {
        if self.wait_fast(true) {
            return Ok(true);
        }
        let _call = self.trace("test", None);
        self.engine().poll();
        let mut sync = self.begin(Call::Wait, "test", |CallContext { window, .. }| {
            Ok(SyncStep::Wait(WaitSync::begin(window)))
        })?;
        self.poll_sync(&mut sync).map_err(|error| error.in_call("test"))
    }

    /// The ranks of a group, ascending.
    fn sorted(&self, group: &[Rank], call: &'static str) -> Result<SmallVec<[Rank; 8]>> {
        for rank in group {
            self.shared().check_rank(*rank, call)?;
        }
        let mut sorted = SmallVec::from_slice(group);
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(sorted),
            Some(pair) => {
                let cause = format!("rank {} stands in the group more than once", pair[0]);
                Err(Error::new(ErrorClass::Group, call, cause))
            }
        }
    }
}
