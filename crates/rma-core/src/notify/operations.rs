//! Operations that raise a counter of their target.

use crate::datatype::Datatype;
use crate::error::{Error, ErrorClass, Result};
use crate::ids::{Disp, Rank};
use crate::mem::{ReadSpan, WriteSpan};
use crate::origin::direct;
use crate::state::MappedTarget;
use crate::table::{Notice, OpData, OpKind, OpResult, Operation};
use crate::window::Window;
use crate::window::queue::operation;
use crate::window::requests::check_passive;
use crate::window::scattered::{CallOutcome, Mode};
use crate::wire::Store;

/// One-sided calls on a window, each of which raises one counter of its target by one when its data are where they belong: stored at
/// the target, or read there and out of the way.
///
/// An operation on no bytes raises the counter too, and one on [`Rank::NULL`] does nothing at all.
#[derive(Clone, Copy, Debug)]
pub struct Notifying<'a> {
    pub(super) window: &'a Window,
    counter: u32,
}

/// Has a rank of the node look again at its counters that sleeps until one changes, on behalf of a call.
#[cold]
pub fn wake(window: &Window, call: &'static str, target: Rank) {
    let shared = window.shared();
    let peer = shared.group.peer(target);
    if peer == shared.holder.peer() {
        window.engine().wake_waiters();
    } else {
        // A wait for room in the channel has no errors.
        let _ = window.engine().notify(call, std::iter::once(peer));
    }
}

impl<'a> Notifying<'a> {
    /// The calls on a window that raise this counter of their target.
    #[inline]
    pub fn of(window: &'a Window, counter: u32) -> Self {
        Self { window, counter }
    }

    /// Stores `origin` at displacement `disp` of `target`.
    ///
    /// # Errors
    /// As [`Window::put`]; `MPIX_ERR_RMA_NOTIFICATION` when the target has no such counter in use, upon which nothing moves, and
    /// `MPI_ERR_RMA_SYNC` in an epoch of fence or start.
    #[inline]
    pub fn put(&self, origin: ReadSpan, target: Rank, disp: Disp) -> Result<()> {
        const CALL: &str = "put_notify";
        if target == Rank::NULL {
            return Ok(());
        }
        let shared = self.window.shared();
        if let Some(mapped) = self.reach(CALL, target, origin.len())? {
            direct::put(shared, mapped, origin, disp).map_err(|range| range.into_error(CALL, target))?;
            self.raise(CALL, target);
            return Ok(());
        }
        self.submit(CALL, target, || Operation::store(Store::Put, disp, origin))
    }

    /// Fills `result` from displacement `disp` of `target`, which learns that its bytes have been read.
    ///
    /// # Errors
    /// As [`Notifying::put`].
    #[inline]
    pub fn get(&self, result: WriteSpan, target: Rank, disp: Disp) -> Result<()> {
        const CALL: &str = "get_notify";
        if target == Rank::NULL {
            return Ok(());
        }
        if let Some(mapped) = self.reach(CALL, target, result.len())? {
            direct::get(mapped, result, disp).map_err(|range| range.into_error(CALL, target))?;
            self.raise(CALL, target);
            return Ok(());
        }
        let len = result.len() as u64;
        self.submit(CALL, target, || {
            Operation::new(OpKind::Get, disp, len, OpData::NONE, OpResult::Run(result))
        })
    }

    /// The target's memory, if the call may go there past the engine. What it does there is not noted as still to be ordered: the step on the
    /// counter orders it.
    #[inline]
    fn reach(&self, call: &'static str, target: Rank, len: usize) -> Result<Option<&MappedTarget>> {
        let shared = self.window.shared();
        if let Some(mapped) = shared.silent(target)
            && mapped.gate.is_locked()
            && shared.notification.of(target).is_some_and(|block| self.counter < block.in_use())
        {
            return Ok(Some(mapped));
        }
        self.reach_observed(call, target, len)
    }

    #[cold]
    fn reach_observed(&self, call: &'static str, target: Rank, len: usize) -> Result<Option<&MappedTarget>> {
        self.check(call, target)?;
        Ok(self.window.direct(target, if call == "put_notify" { "put" } else { "get" }, len))
    }

    /// Whether the target has the counter, and an epoch allows the call.
    fn check(&self, call: &'static str, target: Rank) -> Result<()> {
        let shared = self.window.shared();
        shared.check_rank(target, call)?;
        let (counter, in_use) = (self.counter, shared.notification.in_use(target));
        if counter >= in_use {
            let cause = format!("counter {counter} is not among the {in_use} that rank {target} has in use");
            let error = Error::new(ErrorClass::RmaNotification, call, cause);
            return Err(error.about(target).with_limit(in_use.into()));
        }
        if shared.mapped(target).is_some_and(|mapped| mapped.gate.is_locked()) {
            return Ok(());
        }
        check_passive(self.window, call, target)
    }

    fn submit(&self, call: &'static str, target: Rank, make: impl FnOnce() -> Operation) -> Result<()> {
        let mut op = make();
        if op.len == 0 {
            op = Operation::nothing();
        }
        operation(self.window, target, call, op, Mode::WAIT.notifying(self.notice())).map(drop)
    }

    fn notice(&self) -> Notice {
        Notice::new(self.counter, self.window.shared().hints.lock().are_notices_ordered())
    }

    /// Makes a call on bytes that need not lie side by side, with the mode that it is to have.
    pub(super) fn carry_out(
        &self,
        call: &'static str,
        target: Rank,
        (count, ty): (u64, &Datatype),
        mode: Mode,
        begin: impl FnOnce(Mode) -> Result<CallOutcome>,
    ) -> Result<CallOutcome> {
        if target == Rank::NULL {
            return Ok(CallOutcome::Done);
        }
        self.check(call, target)?;
        let mode = mode.notifying(self.notice());
        let is_empty = count == 0 || ty.size() == 0;
        let outcome = begin(if is_empty { Mode::WAIT } else { mode }).map_err(|error| error.in_call(call))?;
        if is_empty && self.window.shared().mapped(target).is_none() {
            return operation(self.window, target, call, Operation::nothing(), mode);
        }
        if is_empty || matches!(outcome, CallOutcome::Done) {
            self.raise(call, target);
            return Ok(CallOutcome::Done);
        }
        Ok(outcome)
    }

    /// Raises the counter of a mapped target, whose data are in their place.
    #[inline]
    fn raise(&self, call: &'static str, target: Rank) {
        if self.window.shared().notification.of(target).is_some_and(|block| block.raise(self.counter)) {
            wake(self.window, call, target);
        }
    }
}
