//! The window's synchronization calls (MPI 3.1 §11.5), blocking and as steps.
//!
//! `begin_…` checks legality and starts; [`Window::poll_sync`] advances; the plain forms do both and drive the engine
//! meanwhile. A call that needs no packet still polls the channels now and then, so that a loop of such calls serves its
//! peers (lessons, fixed 27).

use super::calls::{Window, gone};
use super::free::WindowFree;
use super::state::WindowState;
use crate::engine::Engine;
use crate::epoch::{
    Assert, Call, FenceSync, FlushSync, LockKind, LockSync, Reach, Sync, SyncStep, UnlockSync,
};
use crate::error::{Error, Result};
use crate::host::Group;
use crate::ids::Rank;
use crate::progress::{Core, State};
use crate::window::{WindowCreation, WindowSpec};
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst, fence};

impl Engine {
    /// Begins a collective window creation over `group`; see [`WindowCreation::poll`].
    ///
    /// # Errors
    /// When a member of the group is known to be lost.
    pub fn begin_window(&self, group: Group, spec: WindowSpec) -> Result<WindowCreation> {
        WindowCreation::begin(self.clone(), group, spec)
    }

    /// Creates a window, collectively over `group`.
    ///
    /// # Errors
    /// As [`WindowCreation::poll`].
    pub fn create_window(&self, group: Group, spec: WindowSpec) -> Result<Window> {
        let size = group.size();
        let mut creation = self.begin_window(group, spec)?;
        let describe = || format!("{size} ranks to create a window");
        self.wait("win_create", &describe, &mut |core| creation.poll_in(core))
    }
}

impl Window {
    /// `MPI_Win_fence` (MPI 3.1 §11.5.1): completes all operations of the epoch, on all ranks, and opens the next.
    ///
    /// # Errors
    /// `MPI_ERR_ASSERT`, `MPI_ERR_RMA_SYNC` while locks are held; errors of operations since the last synchronization.
    pub fn fence(&self, assert: Assert) -> Result<()> {
        let mut sync = self.begin_fence(assert)?;
        self.finish("fence", &mut sync, &|| format!("all {} ranks to enter the fence", self.size()))
    }

    /// The steps of [`Window::fence`].
    ///
    /// # Errors
    /// As [`Window::fence`].
    pub fn begin_fence(&self, assert: Assert) -> Result<Sync> {
        let legal = Assert::NO_STORE.with(Assert::NO_PUT).with(Assert::NO_PRECEDE).with(Assert::NO_SUCCEED);
        let assert = assert.checked("fence", legal)?;
        self.begin(Call::Fence, "fence", |_, _| Ok(SyncStep::Fence(FenceSync::begin(assert))))
    }

    /// `MPI_Win_lock` (MPI 3.1 §11.5.3): opens an access epoch to `target`.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_ASSERT`, `MPI_ERR_RMA_SYNC` when the rank is locked or another kind of epoch is open.
    pub fn lock(&self, kind: LockKind, target: Rank, assert: Assert) -> Result<()> {
        let mut sync = self.begin_lock(kind, target, assert)?;
        if matches!(sync.0, SyncStep::Held) {
            self.poll_now_and_then();
            return Ok(());
        }
        self.finish("lock", &mut sync, &|| format!("the {kind:?} lock of rank {target}"))
    }

    /// The steps of [`Window::lock`].
    ///
    /// # Errors
    /// As [`Window::lock`].
    pub fn begin_lock(&self, kind: LockKind, target: Rank, assert: Assert) -> Result<Sync> {
        self.shared().check_rank(target, "lock")?;
        let assert = assert.checked("lock", Assert::NO_CHECK)?;
        self.begin(Call::Lock(target), "lock", |state, window| {
            // What went wrong before is raised before anything is locked: an error of this call means no lock.
            window.raise("lock")?;
            let mut lock = LockSync::begin(target, kind, assert);
            match lock.poll(state, window) {
                Ok(true) => Ok(SyncStep::Held),
                Ok(false) => Ok(SyncStep::Lock(lock)),
                Err(error) => Err(error),
            }
        })
    }

    /// `MPI_Win_unlock` (MPI 3.1 §11.5.3): completes the epoch's operations at origin and target, and closes it.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_RMA_SYNC` when the rank is not locked; errors of the epoch's operations.
    pub fn unlock(&self, target: Rank) -> Result<()> {
        let (begun, owes) = self.begin_unlock_noting(target);
        if owes {
            // Whoever waits for the lock hears of it now: the caller may not come back for long.
            self.engine().poll();
        }
        let mut sync = begun?;
        if matches!(sync.0, SyncStep::Done) {
            self.poll_now_and_then();
            return Ok(());
        }
        self.finish("unlock", &mut sync, &|| format!("rank {target} to complete the epoch"))
    }

    /// The steps of [`Window::unlock`].
    ///
    /// # Errors
    /// As [`Window::unlock`].
    pub fn begin_unlock(&self, target: Rank) -> Result<Sync> {
        self.begin_unlock_noting(target).0
    }

    /// Begins an unlock; says also whether somebody else has to be told of it.
    fn begin_unlock_noting(&self, target: Rank) -> (Result<Sync>, bool) {
        if let Err(error) = self.shared().check_rank(target, "unlock") {
            return (Err(error), false);
        }
        let mut owes = false;
        let begun = self.begin(Call::Unlock(target), "unlock", |state, window| {
            let sync = UnlockSync::begin(state, window, target);
            owes = !state.nudges.is_empty() || window.is_active();
            match sync {
                None => window.raise("unlock").map(|()| SyncStep::Done),
                Some(sync) => Ok(SyncStep::Unlock(sync)),
            }
        });
        (begun, owes)
    }

    /// `MPI_Win_flush` (MPI 3.1 §11.5.4): the operations to `target` so far are complete at origin and target.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_RMA_SYNC` without a passive epoch to the rank; errors of its operations.
    #[inline]
    pub fn flush(&self, target: Rank) -> Result<()> {
        self.flush_to(target, "flush", Reach::Remote)
    }

    /// `MPI_Win_flush_local` (MPI 3.1 §11.5.4): the buffers of the operations to `target` so far may be reused.
    ///
    /// # Errors
    /// As [`Window::flush`].
    #[inline]
    pub fn flush_local(&self, target: Rank) -> Result<()> {
        self.flush_to(target, "flush_local", Reach::Local)
    }

    /// The steps of [`Window::flush`].
    ///
    /// # Errors
    /// As [`Window::flush`].
    pub fn begin_flush(&self, target: Rank) -> Result<Sync> {
        self.begin_flush_to(target, "flush", Reach::Remote)
    }

    /// The steps of [`Window::flush_local`].
    ///
    /// # Errors
    /// As [`Window::flush`].
    pub fn begin_flush_local(&self, target: Rank) -> Result<Sync> {
        self.begin_flush_to(target, "flush_local", Reach::Local)
    }

    /// Advances a synchronization call; answers whether it is over. Progress of the engine is the caller's business.
    ///
    /// # Errors
    /// Those of the call.
    pub fn poll_sync(&self, sync: &mut Sync) -> Result<bool> {
        self.engine().with(|core| self.advance(core, sync, "synchronization"))
    }

    /// Ends the window, collectively (MPI 3.1 §11.2.5). No rank of the group may be in an epoch on it.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` while locks are held or operations are incomplete; the window then stays.
    pub fn free(self) -> Result<()> {
        let engine = self.engine().clone();
        let mut free = self.begin_free().map_err(|(_, error)| error)?;
        engine.wait("win_free", &|| "all ranks to free the window".to_owned(), &mut |core| {
            Ok(free.poll_in(core)?.then_some(()))
        })
    }

    /// The steps of [`Window::free`].
    ///
    /// # Errors
    /// As [`Window::free`], with the window.
    pub fn begin_free(self) -> Result<WindowFree, (Self, Error)> {
        WindowFree::begin(self)
    }

    #[inline]
    fn flush_to(&self, target: Rank, call: &'static str, reach: Reach) -> Result<()> {
        if let Some(member) = self.shared().member(target)
            && member.open.load(Relaxed)
        {
            // Direct operations are complete when they return; only their order is left to see to.
            fence(SeqCst);
            self.poll_now_and_then();
            return Ok(());
        }
        let mut sync = self.begin_flush_to(target, call, reach)?;
        self.finish(call, &mut sync, &|| format!("operations to rank {target} to complete"))
    }

    fn begin_flush_to(&self, target: Rank, call: &'static str, reach: Reach) -> Result<Sync> {
        self.shared().check_rank(target, call)?;
        self.begin(Call::Flush(target), call, |state, window| {
            Ok(SyncStep::Flush(FlushSync::begin(state, window, target, reach)))
        })
    }

    fn begin(
        &self,
        call: Call,
        name: &'static str,
        start: impl FnOnce(&mut State, &mut WindowState) -> Result<SyncStep>,
    ) -> Result<Sync> {
        self.engine().with(|core| {
            core.state.begun = true;
            let Some(mut window) = core.state.windows.take(self.id()) else { return Err(gone(name)) };
            let begun = window
                .check(&core.state.pools, call, name)
                .and_then(|()| start(&mut core.state, &mut window));
            core.state.windows.put_back(window);
            begun.map(Sync)
        })
    }

    fn advance(&self, core: &mut Core, sync: &mut Sync, name: &'static str) -> Result<bool> {
        let Some(mut window) = core.state.windows.take(self.id()) else { return Err(gone(name)) };
        let state = &mut core.state;
        let was_dirty = std::mem::replace(&mut window.dirty, false);
        let over = match &mut sync.0 {
            SyncStep::Done | SyncStep::Held => Ok(true),
            SyncStep::Fence(fence) => fence.poll(state, &mut window, self.engine().host()),
            SyncStep::Lock(lock) => lock.poll(state, &mut window),
            SyncStep::Unlock(unlock) => unlock.poll(state, &mut window),
            SyncStep::Flush(flush) => flush.poll(state, &window),
        };
        let over = match over {
            Ok(true) if matches!(sync.0, SyncStep::Lock(_) | SyncStep::Held) => Ok(true),
            Ok(true) => window.raise(name).map(|()| true),
            other => other.map_err(|error| error.in_call(name)),
        };
        state.begun |= window.dirty;
        window.dirty |= was_dirty;
        if !matches!(over, Ok(false)) {
            sync.0 = SyncStep::Done;
        }
        state.windows.put_back(window);
        over
    }

    fn finish(&self, name: &'static str, sync: &mut Sync, describe: &dyn Fn() -> String) -> Result<()> {
        self.engine().wait(name, &|| format!("{} (window {})", describe(), self.id()), &mut |core| {
            Ok(self.advance(core, sync, name)?.then_some(()))
        })
    }

    #[inline]
    fn poll_now_and_then(&self) {
        self.engine().poll_now_and_then();
    }
}
