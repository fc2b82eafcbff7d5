//! The window's synchronization calls (MPI 3.1 §11.5), blocking and as steps.
//!
//! `begin_…` checks legality and starts; [`Window::poll_sync`] advances; the plain forms do both and drive the engine
//! meanwhile. A call that needs no packet still polls the channels now and then, so that a loop of such calls serves its
//! peers (lessons, fixed 27).

use super::Sync;
use super::calls::Window;
use super::free::WindowFree;
use super::sync_call::CallContext;
use crate::control::Wake;
use crate::engine::Engine;
use crate::epoch::{Assert, Call, Caller, LockKind, Reach};
use crate::error::{Error, Result};
use crate::host::Group;
use crate::ids::Rank;
use crate::progress::Core;
use crate::state::{Hints, State};
use crate::strategy::{Counted, Next, rest};
use crate::sync::{FenceSync, FlushSync, LockSync, SyncStep, UnlockSync};
use crate::target::locks;
use crate::trace::CallSpan;
use crate::window::{WindowCreation, WindowSpec};

/// Looks at a lock that another rank has before the call joins the line, and pauses after each: a few
/// microseconds in all. More pauses leave the lock idle, fewer take its cache line from its holder.
const LOCK_LOOKS: Counted = Counted::new(0, 19, 0);
const LOCK_PAUSES: u32 = 3;

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
        match self.fence_fast(assert) {
            Some(outcome) => outcome,
            None => self.fence_slowly(assert),
        }
    }

    fn fence_slowly(&self, assert: Assert) -> Result<()> {
        let _call = self.trace("fence", None);
        self.settle_dropped("fence")?;
        let mut sync = self.fence_sync(assert)?;
        self.finish_fence(&mut sync)
    }

    #[cold]
    pub(super) fn finish_fence(&self, sync: &mut Sync) -> Result<()> {
        let outcome = self.finish("fence", sync);
        if outcome.is_err() {
            // Others that wait for the same dead rank learn of it now.
            self.engine().poll();
        }
        outcome
    }

    pub(super) fn fence_sync(&self, assert: Assert) -> Result<Sync> {
        let legal = Assert::NO_STORE.with(Assert::NO_PUT).with(Assert::NO_PRECEDE).with(Assert::NO_SUCCEED);
        let assert = assert.checked("fence", legal)?;
        self.begin(Call::Fence, "fence", |CallContext { channel, state, window, only_uses }| {
            Ok(SyncStep::Fence(FenceSync::begin(assert, channel, state, window, only_uses)))
        })
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
        self.lock_slowly(kind, target, assert)
    }

    #[cold]
    fn lock_slowly(&self, kind: LockKind, target: Rank, assert: Assert) -> Result<()> {
        if assert == Assert::NONE && self.lock_soon(kind, target) {
            return Ok(());
        }
        let _call = self.trace("lock", Some(target));
        self.settle_dropped("lock")?;
        let mut sync = self.lock_sync(Caller::thread(), kind, target, assert)?;
        if sync.is_over() {
            return Ok(());
        }
        self.finish("lock", &mut sync)
    }

    /// Looks for the end of another rank's lock, which most programs hold for less than it costs to join the
    /// line; `false` when the call has to take the slow path. A request in line goes first, where ranks
    /// outnumber cores once it runs and has claimed the lock; and a call that has looked in vain joins the
    /// line, so none is passed without end.
    fn lock_soon(&self, kind: LockKind, target: Rank) -> bool {
        let shared = self.shared();
        let Some(node_rank) = shared.fast_node_rank(target) else { return false };
        // Where ranks outnumber cores, the lock's holder runs on another core, and yielding costs more.
        let is_oversubscribed = self.engine().patience().0 == 0;
        // Where waits are configured neither to spin nor to yield, this one does neither.
        if is_oversubscribed && self.engine().config().yields == 0 {
            return false;
        }
        let mut strategy = LOCK_LOOKS;
        loop {
            let state = node_rank.control.lock_state();
            let is_own = state.owner() == Some(shared.holder.peer());
            let has_line = if is_oversubscribed { state.is_claimed() } else { state.waiters() > 0 };
            if has_line || is_own || shared.access.is_owned() {
                return false;
            }
            let has_room = state.is_free() || (kind == LockKind::Shared && state.owner().is_none());
            if has_room && shared.try_lock(node_rank, kind, false) {
                return true;
            }
            match strategy.observe() {
                Next::Sleep => return false,
                next => (0..LOCK_PAUSES).for_each(|_| rest(next)),
            }
        }
    }

    pub(super) fn lock_sync(
        &self,
        caller: Caller,
        kind: LockKind,
        target: Rank,
        assert: Assert,
    ) -> Result<Sync> {
        let assert = assert.checked("lock", Assert::NO_CHECK)?;
        if target == Rank::NULL {
            return Ok(Sync(SyncStep::Held, Call::Lock(target), None));
        }
        self.shared().check_rank(target, "lock")?;
        self.begin_and_poll(Call::Lock(target), "lock", |_, window| {
            // What went wrong before is raised before anything is locked: an error of this call means no lock.
            window.raise("lock")?;
            Ok(SyncStep::Lock(LockSync::begin(target, kind, assert, caller)))
        })
    }

    /// `MPI_Win_unlock` (MPI 3.1 §11.5.3): completes the epoch's operations at origin and target, and closes it.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_RMA_SYNC` when the rank is not locked; errors of the epoch's operations.
    #[inline]
    pub fn unlock(&self, target: Rank) -> Result<()> {
        match self.shared().fast(target).and_then(|mapped| self.shared().try_unlock(mapped)) {
            Some(None) => self.poll_throttled(),
            Some(wake) => self.wake(wake),
            None => return self.unlock_node_target(target).unwrap_or_else(|| self.unlock_slowly(target)),
        }
        Ok(())
    }

    /// Rings those whose turn it is to take a lock.
    #[cold]
    pub(super) fn wake(&self, wake: Option<Wake>) {
        self.engine().with(|core| {
            let State { wake_ups, counters, .. } = &mut core.state;
            locks::wake(wake_ups, counters, self.shared(), wake);
        });
        // They are woken now: the caller may not come back for long.
        self.engine().poll();
    }

    #[cold]
    pub(super) fn unlock_slowly(&self, target: Rank) -> Result<()> {
        let _call = self.trace("unlock", Some(target));
        self.settle_dropped("unlock")?;
        let started = self.begin_unlock_noting(target);
        self.finish_release("unlock", started)
    }

    /// Ends a call that gives locks back; with what it began comes whether another rank has to be notified.
    pub(super) fn finish_release(
        &self,
        name: &'static str,
        (started, owes): (Result<Sync>, bool),
    ) -> Result<()> {
        if owes {
            // Waiting ranks get the lock now: the caller may not come back for long.
            self.engine().poll();
        }
        let mut sync = started?;
        if matches!(sync.0, SyncStep::Done) {
            self.poll_throttled();
            return Ok(());
        }
        // A release without an acknowledgement is over when it has left: no further step for that.
        if owes && self.engine().with(|core| self.advance(core, &mut sync, name))? {
            return Ok(());
        }
        self.finish(name, &mut sync)
    }

    /// Begins an unlock; says also whether another rank has to be notified of it.
    pub(super) fn begin_unlock_noting(&self, target: Rank) -> (Result<Sync>, bool) {
        if target == Rank::NULL {
            return (Ok(Sync(SyncStep::Done, Call::Unlock(target), None)), false);
        }
        if let Err(error) = self.shared().check_rank(target, "unlock") {
            return (Err(error), false);
        }
        let mut owes = false;
        let started = self.begin(Call::Unlock(target), "unlock", |CallContext { state, window, .. }| {
            let sync = UnlockSync::begin(state, window, target);
            owes = !state.wake_ups.is_empty() || window.is_active();
            match sync {
                None => window.raise("unlock").map(|()| SyncStep::Done),
                Some(sync) => Ok(SyncStep::Unlock(sync)),
            }
        });
        (started, owes)
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
        self.settle_dropped("win_free")?;
        self.begin_free().map_err(|(_, error)| error)?.wait()
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
        if let Some(mapped) = self.shared().fast(target)
            && mapped.gate.is_locked()
        {
            // Direct operations are complete when they return; only their order is left to see to.
            self.shared().store_fence.order();
            self.poll_throttled();
            return Ok(());
        }
        if target == Rank::NULL {
            return Ok(());
        }
        let _call = self.trace(call, Some(target));
        self.settle_dropped(call)?;
        let mut sync = self.begin_flush_to(target, call, reach)?;
        self.finish(call, &mut sync)
    }

    pub(super) fn begin_flush_to(&self, target: Rank, call: &'static str, reach: Reach) -> Result<Sync> {
        if target == Rank::NULL {
            return Ok(Sync(SyncStep::Done, Call::Flush(target), None));
        }
        self.shared().check_rank(target, call)?;
        self.begin(Call::Flush(target), call, |CallContext { channel, state, window, only_uses }| {
            let permits_calls = only_uses || window.permits_calls(target);
            Ok(SyncStep::Flush(FlushSync::begin(channel, state, window, target, reach, permits_calls)))
        })
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
            self.poll_holding();
        }
    }

    #[cold]
    fn poll_holding(&self) {
        self.engine().poll_due(&|| !self.shared().holds_alone());
    }
}
