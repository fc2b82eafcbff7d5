//! The synchronization calls as steps (MPI 3.1 §11.5): begun here, advanced by [`Window::poll_sync`], and seen to by
//! [`super::dropped`] when they are given up.

use super::Sync;
use super::calls::Window;
use super::sync_call::CallContext;
use crate::epoch::{Assert, Call, Caller, LockKind, Reach};
use crate::error::Result;
use crate::ids::Rank;
use crate::sync::{SyncStep, WaitSync};

impl Window {
    /// The steps of [`Window::fence`].
    ///
    /// # Errors
    /// As [`Window::fence`].
    pub fn begin_fence(&self, assert: Assert) -> Result<Sync> {
        self.fence_sync(assert).map(|sync| sync.guarded(self))
    }

    /// The steps of [`Window::lock`].
    ///
    /// # Errors
    /// As [`Window::lock`].
    pub fn begin_lock(&self, kind: LockKind, target: Rank, assert: Assert) -> Result<Sync> {
        self.begin_lock_by(Caller::thread(), kind, target, assert)
    }

    /// [`Window::begin_lock`] in the name of a caller that need not be the thread: locks are acquired in the order of one
    /// caller's calls, each of which is over before the next is begun.
    ///
    /// # Errors
    /// As [`Window::lock`].
    pub fn begin_lock_by(
        &self,
        caller: Caller,
        kind: LockKind,
        target: Rank,
        assert: Assert,
    ) -> Result<Sync> {
        self.lock_sync(caller, kind, target, assert).map(|sync| sync.guarded(self))
    }

    /// The steps of [`Window::unlock`].
    ///
    /// # Errors
    /// As [`Window::unlock`].
    pub fn begin_unlock(&self, target: Rank) -> Result<Sync> {
        self.begin_unlock_noting(target).0.map(|sync| sync.guarded(self))
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
    /// As [`Window::flush_local`].
    pub fn begin_flush_local(&self, target: Rank) -> Result<Sync> {
        self.begin_flush_to(target, "flush_local", Reach::Local)
    }

    /// The steps of [`Window::lock_all`].
    ///
    /// # Errors
    /// As [`Window::lock_all`].
    pub fn begin_lock_all(&self, assert: Assert) -> Result<Sync> {
        self.begin_lock_all_by(Caller::thread(), assert)
    }

    /// [`Window::begin_lock_all`] in the name of a caller that need not be the thread: the single locks that it has called for
    /// on other windows are acquired first.
    ///
    /// # Errors
    /// As [`Window::lock_all`].
    pub fn begin_lock_all_by(&self, caller: Caller, assert: Assert) -> Result<Sync> {
        self.lock_all_sync(caller, assert).map(|sync| sync.guarded(self))
    }

    /// The steps of [`Window::unlock_all`].
    ///
    /// # Errors
    /// As [`Window::unlock_all`].
    pub fn begin_unlock_all(&self) -> Result<Sync> {
        self.begin_unlock_all_noting().0.map(|sync| sync.guarded(self))
    }

    /// The steps of [`Window::flush_all`].
    ///
    /// # Errors
    /// As [`Window::flush_all`].
    pub fn begin_flush_all(&self) -> Result<Sync> {
        self.begin_flush_every("flush_all", Reach::Remote)
    }

    /// The steps of [`Window::flush_local_all`].
    ///
    /// # Errors
    /// As [`Window::flush_local_all`].
    pub fn begin_flush_local_all(&self) -> Result<Sync> {
        self.begin_flush_every("flush_local_all", Reach::Local)
    }

    /// The steps of [`Window::start`].
    ///
    /// # Errors
    /// As [`Window::start`].
    pub fn begin_start(&self, group: &[Rank], assert: Assert) -> Result<Sync> {
        self.start_sync(group, assert).map(|sync| sync.guarded(self))
    }

    /// The steps of [`Window::complete`].
    ///
    /// # Errors
    /// As [`Window::complete`].
    pub fn begin_complete(&self) -> Result<Sync> {
        self.complete_sync().map(|sync| sync.guarded(self))
    }

    /// The steps of [`Window::wait`].
    ///
    /// # Errors
    /// As [`Window::wait`].
    pub fn begin_wait(&self) -> Result<Sync> {
        self.begin(Call::Wait, "wait", |CallContext { window, .. }| {
            Ok(SyncStep::Wait(WaitSync::begin(window)))
        })
    }
}
