//! Request-based communication calls (MPI 3.1 §11.3.5): a call's own completion, apart from its epoch's.
//!
//! An operation with a request leaves at once, because a request is for its end; a store in a stream of them is copied instead. The
//! engine signals the end when the operation itself waits for nothing any more: a put or an accumulate has left the caller's buffer, a
//! get or a get-accumulate has filled it. Looking at a request takes no lock and moves nothing, so it may be done anywhere, also in what
//! [`crate::Engine::wait_until`] asks.

use super::calls::Window;
use super::scattered::{Mode, Outcome};
use super::typed::{Destination, Origin, TargetArea};
use crate::engine::Engine;
use crate::epoch::Epoch;
use crate::error::{Error, ErrorClass, Result};
use crate::host::{Awaited, Need};
use crate::ids::{Rank, WindowId};
use crate::kernel::ReduceOp;
use crate::state::gone;
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

impl Window {
    /// `MPI_Rput`.
    ///
    /// # Errors
    /// As [`Window::put_typed`]; `MPI_ERR_RMA_SYNC` also in an epoch of fence or start (MPI 3.1 §11.3.5).
    ///
    /// # Safety
    /// The origin's bytes must be readable until the request, or a synchronization call, has completed the operation.
    pub unsafe fn rput(
        &self,
        origin: Origin<'_>,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<OperationRequest> {
        // SAFETY: the caller's promise.
        self.requested("rput", target, || unsafe { self.put_scattered(origin, target, area, Mode::Request) })
    }

    /// `MPI_Rget`.
    ///
    /// # Errors
    /// As [`Window::get_typed`] and [`Window::rput`].
    ///
    /// # Safety
    /// The result's bytes must be writable until the request, or a synchronization call, has completed the operation.
    pub unsafe fn rget(
        &self,
        result: Destination<'_>,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<OperationRequest> {
        // SAFETY: the caller's promise.
        self.requested("rget", target, || unsafe { self.get_scattered(result, target, area, Mode::Request) })
    }

    /// `MPI_Raccumulate`.
    ///
    /// # Errors
    /// As [`Window::accumulate_typed`] and [`Window::rput`].
    ///
    /// # Safety
    /// As [`Window::rput`].
    pub unsafe fn raccumulate(
        &self,
        origin: Origin<'_>,
        op: ReduceOp,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<OperationRequest> {
        // SAFETY: the caller's promise.
        self.requested("raccumulate", target, || unsafe {
            self.accumulate_scattered(origin, op, target, area, Mode::Request)
        })
    }

    /// `MPI_Rget_accumulate`.
    ///
    /// # Errors
    /// As [`Window::get_accumulate`] and [`Window::rput`].
    ///
    /// # Safety
    /// As [`Window::rput`] for the origin and [`Window::rget`] for the result; the two must not overlap.
    pub unsafe fn rget_accumulate(
        &self,
        origin: Origin<'_>,
        result: Destination<'_>,
        op: ReduceOp,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<OperationRequest> {
        // SAFETY: the caller's promise.
        self.requested("rget_accumulate", target, || unsafe {
            self.get_accumulate_scattered(origin, result, op, target, area, Mode::Request)
        })
    }

    /// [`Window::rput`] that answers `None` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::rput`].
    ///
    /// # Safety
    /// As [`Window::rput`].
    pub unsafe fn try_rput(
        &self,
        origin: Origin<'_>,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<Option<OperationRequest>> {
        // SAFETY: the caller's promise.
        self.try_requested("rput", target, || unsafe {
            self.put_scattered(origin, target, area, Mode::TryRequest)
        })
    }

    /// [`Window::rget`] that answers `None` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::rget`].
    ///
    /// # Safety
    /// As [`Window::rget`].
    pub unsafe fn try_rget(
        &self,
        result: Destination<'_>,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<Option<OperationRequest>> {
        // SAFETY: the caller's promise.
        self.try_requested("rget", target, || unsafe {
            self.get_scattered(result, target, area, Mode::TryRequest)
        })
    }

    /// [`Window::raccumulate`] that answers `None` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::raccumulate`].
    ///
    /// # Safety
    /// As [`Window::raccumulate`].
    pub unsafe fn try_raccumulate(
        &self,
        origin: Origin<'_>,
        op: ReduceOp,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<Option<OperationRequest>> {
        // SAFETY: the caller's promise.
        self.try_requested("raccumulate", target, || unsafe {
            self.accumulate_scattered(origin, op, target, area, Mode::TryRequest)
        })
    }

    /// [`Window::rget_accumulate`] that answers `None` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::rget_accumulate`].
    ///
    /// # Safety
    /// As [`Window::rget_accumulate`].
    pub unsafe fn try_rget_accumulate(
        &self,
        origin: Origin<'_>,
        result: Destination<'_>,
        op: ReduceOp,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<Option<OperationRequest>> {
        // SAFETY: the caller's promise.
        self.try_requested("rget_accumulate", target, || unsafe {
            self.get_accumulate_scattered(origin, result, op, target, area, Mode::TryRequest)
        })
    }

    pub(crate) fn requested(
        &self,
        call: &'static str,
        target: Rank,
        begin: impl FnOnce() -> Result<Outcome>,
    ) -> Result<OperationRequest> {
        // A call that waits for an element is never without one in the end.
        self.try_requested(call, target, begin)
            .map(|request| request.unwrap_or_else(|| self.ended(call, target)))
    }

    pub(crate) fn try_requested(
        &self,
        call: &'static str,
        target: Rank,
        begin: impl FnOnce() -> Result<Outcome>,
    ) -> Result<Option<OperationRequest>> {
        if target != Rank::NULL {
            self.check_passive(call, target)?;
        }
        Ok(match begin().map_err(|error| error.in_call(call))? {
            Outcome::Posted(signal) => Some(OperationRequest { signal, ..self.ended(call, target) }),
            Outcome::Done => Some(self.ended(call, target)),
            Outcome::Full => None,
        })
    }

    /// Queues an operation and waits for its end.
    pub(super) fn carry_out(&self, call: &'static str, target: Rank, mut op: Operation) -> Result<()> {
        let signal = Arc::<Signal>::default();
        op = op.signalling(Arc::clone(&signal));
        self.post(target, call, || op)?;
        OperationRequest { signal: Some(signal), ..self.ended(call, target) }.wait()
    }

    fn ended(&self, call: &'static str, target: Rank) -> OperationRequest {
        let (engine, window) = (self.engine().clone(), self.shared().id);
        OperationRequest { engine, call, window, target, signal: None }
    }

    /// Requests are for passive epochs; the table of legal calls has the rest.
    pub(crate) fn check_passive(&self, call: &'static str, target: Rank) -> Result<()> {
        self.engine().with(|core| {
            // Only epochs of locks permit calls so.
            if core.windows.get(self.shared().id).is_some_and(|window| window.permits_calls(target)) {
                return Ok(());
            }
            let Some(context) = core.windows.borrow(&mut core.state, self.shared().id) else {
                return Err(gone(call));
            };
            let window = &mut *context.window;
            let state = window.access().epoch();
            window.check_open(call)?;
            if state.is_pscw() || (state.is_fence_or_unset() && state != Epoch::Unset) {
                let cause = format!(
                    "in the epoch that {} opened: requests are for epochs of lock",
                    state.opened_by()
                );
                return Err(Error::new(ErrorClass::RmaSync, call, cause));
            }
            Ok(())
        })
    }
}
