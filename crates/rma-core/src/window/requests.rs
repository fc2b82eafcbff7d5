//! The calls that give something to complete later: operations with a request (MPI 3.1 §11.3.5), and the `begin_…` forms of calls that wait.
//!
//! An operation with a request leaves at once, because a request is for its end; a store in a stream of them is copied instead. The
//! engine signals the end when the operation itself waits for nothing any more: a put or an accumulate has left the caller's buffer, a
//! get or a get-accumulate has filled it. Looking at a request takes no lock and moves nothing, so it may be done anywhere, also in what
//! [`crate::Engine::wait_until`] asks.
//!
//! A synchronization call that is begun (MPI 3.1 §11.5) is advanced by [`Window::poll_sync`], and [`super::dropped`] sees to it when it is
//! given up.

use super::dynamic::{Detaching, regions};
use super::queue::operation;
use super::scattered::{self, CallOutcome, Mode};
use super::sync_call::{CallContext, begin};
use super::typed::{Destination, Origin, TargetArea};
use super::{Sync, Window, WindowFree, slow_sync};
use crate::engine::Engine;
use crate::epoch::{Assert, Call, Caller, Epoch, LockKind, Reach};
use crate::error::{Error, ErrorClass, Result};
use crate::host::{Awaited, Need};
use crate::ids::{Rank, WindowId};
use crate::kernel::ReduceOp;
use crate::state::gone;
use crate::sync::{SyncStep, WaitSync};
use crate::table::{Operation, Signal};
use std::sync::Arc;

/// An operation under way that can be waited for. Dropping it leaves the operation to its epoch.
#[derive(Clone, Debug)]
pub struct OperationRequest {
    engine: Engine,
    call: &'static str,
    window: WindowId,
    target: Rank,
    /// `None` when the operation was complete as the call returned.
    signal: Option<Arc<Signal>>,
}

impl OperationRequest {
    /// Whether the operation has ended: its buffers are the caller's again, and a result is there. Moves nothing.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED` when the target was lost before the end, `MPI_ERR_RMA_SYNC` when the epoch was never opened.
    /// The buffers are the caller's again all the same.
    pub fn is_complete(&self) -> Result<bool> {
        match self.signal.as_ref().and_then(|signal| signal.get()) {
            None => Ok(self.signal.is_none()),
            Some(Ok(())) => Ok(true),
            Some(Err(error)) => Err(error.clone().in_call(self.call)),
        }
    }

    /// What its end needs, for waits of many kinds of requests.
    pub fn need(&self) -> Need {
        Need::Operation(self.window, self.target)
    }

    /// The same with its clause.
    pub fn awaited(&self) -> Awaited {
        Awaited::one(format!("rank {} to answer an operation with a request", self.target), self.need())
    }

    /// Moves the engine a step, and looks.
    ///
    /// # Errors
    /// As [`OperationRequest::is_complete`].
    pub fn test(&self) -> Result<bool> {
        if self.signal.is_some() {
            self.engine.poll();
        }
        self.is_complete()
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// As [`OperationRequest::is_complete`].
    pub fn wait(&self) -> Result<()> {
        let _call = self.engine.observation().call(self.call, None, Some(self.target));
        if self.is_complete()? {
            return Ok(());
        }
        self.engine.wait_until(self.call, &|| self.awaited(), &mut || Ok(self.is_complete()?.then_some(())))
    }
}

macro_rules! requests {
    ($($(#[$text:meta])* $call:ident, $try_call:ident, $form:path => ($($argument:ident: $ty:ty),*);)*) => {
        impl Window {
            $(
                $(#[$text])*
                pub unsafe fn $call(
                    &self,
                    $($argument: $ty,)*
                    target: Rank,
                    area: TargetArea<'_>,
                ) -> Result<OperationRequest> {
                    // SAFETY: the caller's promise.
                    let begin = || unsafe { $form(self, $($argument,)* target, area, Mode::REQUEST) };
                    requested(self, stringify!($call), target, begin)
                }

                /// The same, but answers `None` instead of waiting for an operation element.
                ///
                /// # Errors
                /// As the call that waits.
                ///
                /// # Safety
                /// As the call that waits.
                pub unsafe fn $try_call(
                    &self,
                    $($argument: $ty,)*
                    target: Rank,
                    area: TargetArea<'_>,
                ) -> Result<Option<OperationRequest>> {
                    // SAFETY: the caller's promise.
                    let begin = || unsafe { $form(self, $($argument,)* target, area, Mode::TRY_REQUEST) };
                    try_requested(self, stringify!($call), target, begin)
                }
            )*
        }
    };
}

requests! {
    /// `MPI_Rput`.
    ///
    /// # Errors
    /// As [`Window::put_typed`]; `MPI_ERR_RMA_SYNC` also in an epoch of fence or start (MPI 3.1 §11.3.5).
    ///
    /// # Safety
    /// The origin's bytes must be readable until the request, or a synchronization call, has completed the operation.
    rput, try_rput, scattered::put => (origin: Origin<'_>);
    /// `MPI_Rget`.
    ///
    /// # Errors
    /// As [`Window::get_typed`] and [`Window::rput`].
    ///
    /// # Safety
    /// The result's bytes must be writable until the request, or a synchronization call, has completed the operation.
    rget, try_rget, scattered::get => (result: Destination<'_>);
    /// `MPI_Raccumulate`.
    ///
    /// # Errors
    /// As [`Window::accumulate_typed`] and [`Window::rput`].
    ///
    /// # Safety
    /// As [`Window::rput`].
    raccumulate, try_raccumulate, scattered::accumulate => (origin: Origin<'_>, op: ReduceOp);
    /// `MPI_Rget_accumulate`.
    ///
    /// # Errors
    /// As [`Window::get_accumulate`] and [`Window::rput`].
    ///
    /// # Safety
    /// As [`Window::rput`] for the origin and [`Window::rget`] for the result; the two must not overlap.
    rget_accumulate, try_rget_accumulate, scattered::get_accumulate => (
        origin: Origin<'_>,
        result: Destination<'_>,
        op: ReduceOp
    );
}

impl Window {
    /// The steps of [`Window::fence`].
    ///
    /// # Errors
    /// As [`Window::fence`].
    pub fn begin_fence(&self, assert: Assert) -> Result<Sync> {
        slow_sync::begin_fence(self, assert).map(|sync| sync.guarded(self))
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
        slow_sync::begin_lock(self, caller, kind, target, assert).map(|sync| sync.guarded(self))
    }

    /// The steps of [`Window::unlock`].
    ///
    /// # Errors
    /// As [`Window::unlock`].
    pub fn begin_unlock(&self, target: Rank) -> Result<Sync> {
        slow_sync::begin_unlock(self, target).0.map(|sync| sync.guarded(self))
    }

    /// The steps of [`Window::flush`].
    ///
    /// # Errors
    /// As [`Window::flush`].
    pub fn begin_flush(&self, target: Rank) -> Result<Sync> {
        slow_sync::begin_flush(self, target, "flush", Reach::Remote)
    }

    /// The steps of [`Window::flush_local`].
    ///
    /// # Errors
    /// As [`Window::flush_local`].
    pub fn begin_flush_local(&self, target: Rank) -> Result<Sync> {
        slow_sync::begin_flush(self, target, "flush_local", Reach::Local)
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
        slow_sync::begin_lock_all(self, caller, assert).map(|sync| sync.guarded(self))
    }

    /// The steps of [`Window::unlock_all`].
    ///
    /// # Errors
    /// As [`Window::unlock_all`].
    pub fn begin_unlock_all(&self) -> Result<Sync> {
        slow_sync::begin_unlock_all(self).0.map(|sync| sync.guarded(self))
    }

    /// The steps of [`Window::flush_all`].
    ///
    /// # Errors
    /// As [`Window::flush_all`].
    pub fn begin_flush_all(&self) -> Result<Sync> {
        slow_sync::begin_flush_all(self, "flush_all", Reach::Remote)
    }

    /// The steps of [`Window::flush_local_all`].
    ///
    /// # Errors
    /// As [`Window::flush_local_all`].
    pub fn begin_flush_local_all(&self) -> Result<Sync> {
        slow_sync::begin_flush_all(self, "flush_local_all", Reach::Local)
    }

    /// The steps of [`Window::start`].
    ///
    /// # Errors
    /// As [`Window::start`].
    pub fn begin_start(&self, group: &[Rank], assert: Assert) -> Result<Sync> {
        slow_sync::begin_start(self, group, assert).map(|sync| sync.guarded(self))
    }

    /// The steps of [`Window::complete`].
    ///
    /// # Errors
    /// As [`Window::complete`].
    pub fn begin_complete(&self) -> Result<Sync> {
        slow_sync::begin_complete(self).map(|sync| sync.guarded(self))
    }

    /// The steps of [`Window::wait`].
    ///
    /// # Errors
    /// As [`Window::wait`].
    pub fn begin_wait(&self) -> Result<Sync> {
        begin(self, Call::Wait, "wait", |CallContext { window, .. }| {
            Ok(SyncStep::Wait(WaitSync::begin(window)))
        })
    }

    /// The steps of [`Window::free`].
    ///
    /// # Errors
    /// As [`Window::free`], with the window.
    pub fn begin_free(self) -> Result<WindowFree, (Self, Error)> {
        WindowFree::begin(self)
    }

    /// The steps of [`Window::detach`]: the memory is no part of the window any more, and [`Detaching::is_over`] says when
    /// the library touches it no longer.
    ///
    /// # Errors
    /// As [`Window::detach`].
    pub fn begin_detach(&self, base: usize) -> Result<Detaching> {
        const CALL: &str = "win_detach";
        let regions = regions(self, CALL)?;
        // Under the engine's lock no handler is between finding memory and noting its use.
        let earlier = self.engine().with(|_| regions.detach(base, CALL))?;
        // A direct access by another thread ends without a step of the engine.
        earlier.wake(self.engine().wake_handle());
        Ok(Detaching(earlier))
    }
}

pub(crate) fn requested(
    handle: &Window,
    call: &'static str,
    target: Rank,
    begin: impl FnOnce() -> Result<CallOutcome>,
) -> Result<OperationRequest> {
    // A call that waits for an element is never without one in the end.
    try_requested(handle, call, target, begin)
        .map(|request| request.unwrap_or_else(|| ended(handle, call, target)))
}

pub(crate) fn try_requested(
    handle: &Window,
    call: &'static str,
    target: Rank,
    begin: impl FnOnce() -> Result<CallOutcome>,
) -> Result<Option<OperationRequest>> {
    if target != Rank::NULL {
        check_passive(handle, call, target)?;
    }
    Ok(match begin().map_err(|error| error.in_call(call))? {
        CallOutcome::Posted(signal) => Some(OperationRequest { signal, ..ended(handle, call, target) }),
        CallOutcome::Done => Some(ended(handle, call, target)),
        CallOutcome::Full => None,
    })
}

/// Queues an operation and waits for its end.
pub(super) fn carry_out(handle: &Window, call: &'static str, target: Rank, op: Operation) -> Result<()> {
    match operation(handle, target, call, op, Mode::REQUEST)? {
        CallOutcome::Posted(signal) => OperationRequest { signal, ..ended(handle, call, target) }.wait(),
        CallOutcome::Done | CallOutcome::Full => Ok(()),
    }
}

fn ended(handle: &Window, call: &'static str, target: Rank) -> OperationRequest {
    let (engine, window) = (handle.engine().clone(), handle.shared().id);
    OperationRequest { engine, call, window, target, signal: None }
}

/// Requests are for passive epochs; the table of legal calls has the rest.
pub(crate) fn check_passive(handle: &Window, call: &'static str, target: Rank) -> Result<()> {
    handle.engine().with(|core| {
        // Only epochs of locks permit calls so.
        if core.windows.get(handle.shared().id).is_some_and(|window| window.permits_calls(target)) {
            return Ok(());
        }
        let Some(context) = core.windows.borrow(&mut core.state, handle.shared().id) else {
            return Err(gone(call));
        };
        let window = &mut *context.window;
        let state = window.access().epoch();
        window.check_open(call)?;
        if state.is_pscw() || (state.is_fence_or_unset() && state != Epoch::Unset) {
            let cause =
                format!("in the epoch that {} opened: requests are for epochs of lock", state.opened_by());
            return Err(Error::new(ErrorClass::RmaSync, call, cause));
        }
        Ok(())
    })
}
