//! Operations with a request (MPI 5.0 §12.3.5): the same as without, whose own end can be waited for together with messages and
//! collectives.

use super::object;
use super::transfer::{Origin, Sides, Target, with_op, with_result, with_sides};
use crate::abi::*;
use crate::arguments::{Out, Wide};
use crate::process::Sought;
use crate::request::{End, Pending, Status, enter_or_end};
use rma::Result;
use rma_core::window::OperationRequest;

/// An operation under way; to `MPI_PROC_NULL`, none.
pub(crate) struct Operation(pub(super) Option<OperationRequest>);

impl Pending for Operation {
    fn take_end(&mut self) -> Option<End> {
        match self.0.as_ref().map_or(Ok(true), OperationRequest::is_complete) {
            Ok(false) => None,
            Ok(true) => Some(End::done()),
            Err(error) => Some(End::from(Err::<Status, _>(error))),
        }
    }

    fn seek(&self, each: &mut dyn FnMut(Sought)) {
        if let Some(operation) = &self.0 {
            each(Sought::Operation(operation.need()));
        }
    }
}

pub(crate) fn start(win: MPI_Win, request: Out<MPI_Request>, operation: Operation) -> Result<()> {
    request.set("request", enter_or_end(operation, object::get(win)?.raiser(win))?)
}

pub(crate) fn put<C: Wide>(origin: Origin<C>, target: Target<C>, win: MPI_Win) -> Result<Operation> {
    let window = object::get(win)?;
    // SAFETY: the buffer is good until the operation is complete, by the contract of `Memory`.
    let run = |sides: Sides<'_>| unsafe { window.inner.rput(sides.origin(), sides.rank, sides.area()) };
    with_sides(window, &origin, &target, run).map(Operation)
}

pub(crate) fn get<C: Wide>(origin: Origin<C>, target: Target<C>, win: MPI_Win) -> Result<Operation> {
    let window = object::get(win)?;
    // SAFETY: as in `put`.
    let run = |sides: Sides<'_>| unsafe { window.inner.rget(sides.destination(), sides.rank, sides.area()) };
    with_sides(window, &origin, &target, run).map(Operation)
}

pub(crate) fn accumulate<C: Wide>(
    origin: Origin<C>,
    target: Target<C>,
    handle: MPI_Op,
    win: MPI_Win,
) -> Result<Operation> {
    let window = object::get(win)?;
    // SAFETY: as in `put`.
    with_op(window, &origin, &target, handle, |sides, op| unsafe {
        window.inner.raccumulate(sides.origin(), op, sides.rank, sides.area())
    })
    .map(Operation)
}

pub(crate) fn get_accumulate<C: Wide>(
    origin: Origin<C>,
    result: Origin<C>,
    target: Target<C>,
    handle: MPI_Op,
    win: MPI_Win,
) -> Result<Operation> {
    let window = object::get(win)?;
    // SAFETY: as in `put`.
    with_result(window, &origin, &result, &target, handle, |sides, op, to| unsafe {
        window.inner.rget_accumulate(sides.origin(), to, op, sides.rank, sides.area())
    })
    .map(Operation)
}
