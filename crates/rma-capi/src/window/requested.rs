//! Operations with a request (MPI 5.0 §12.3.5): the same as without, whose own end can be waited for together with messages and
//! collectives.

use super::object;
use super::transfer::{Elements, Origin, Target, here_of_accumulate, named, predefined, sides};
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
    let here = Elements::of_origin(&origin, &target)?;
    let there = Elements::at_target(&target)?;
    let Some((rank, disp)) = target.place() else { return target.nowhere().map(|()| Operation(None)) };
    // SAFETY: the buffer is good until the operation is complete, by the contract of `Memory`.
    let request = unsafe { window.inner.rput(here.origin(), rank, there.area(disp)) }?;
    Ok(Operation(Some(request)))
}

pub(crate) fn get<C: Wide>(origin: Origin<C>, target: Target<C>, win: MPI_Win) -> Result<Operation> {
    let window = object::get(win)?;
    let here = Elements::of_origin(&origin, &target)?;
    let there = Elements::at_target(&target)?;
    let Some((rank, disp)) = target.place() else { return target.nowhere().map(|()| Operation(None)) };
    // SAFETY: as in `put`.
    let request = unsafe { window.inner.rget(here.destination(), rank, there.area(disp)) }?;
    Ok(Operation(Some(request)))
}

pub(crate) fn accumulate<C: Wide>(
    origin: Origin<C>,
    target: Target<C>,
    handle: MPI_Op,
    win: MPI_Win,
) -> Result<Operation> {
    let window = object::get(win)?;
    let here = Elements::of_origin(&origin, &target)?;
    let there = Elements::at_target(&target)?;
    let op = predefined(handle)?;
    let Some((rank, disp)) = target.place() else { return target.nowhere().map(|()| Operation(None)) };
    // SAFETY: as in `put`.
    let request = unsafe { window.inner.raccumulate(here.origin(), op, rank, there.area(disp)) };
    let request = request
        .map_err(|error| named(error, handle, target.datatype, &[("origin_datatype", origin.datatype)]))?;
    Ok(Operation(Some(request)))
}

pub(crate) fn get_accumulate<C: Wide>(
    origin: Origin<C>,
    result: Origin<C>,
    target: Target<C>,
    handle: MPI_Op,
    win: MPI_Win,
) -> Result<Operation> {
    let window = object::get(win)?;
    let op = predefined(handle)?;
    let there = Elements::at_target(&target)?;
    let back = Elements::of_result(&result, &target)?;
    let here = here_of_accumulate(&origin, &target, &back, &there, op)?;
    let Some((rank, disp)) = target.place() else { return target.nowhere().map(|()| Operation(None)) };
    here.check_apart(&back)?;
    // SAFETY: as in `put`.
    let request = unsafe {
        window.inner.rget_accumulate(here.origin(), back.destination(), op, rank, there.area(disp))
    };
    let request =
        request.map_err(|error| named(error, handle, target.datatype, &sides(&origin, &result, op)))?;
    Ok(Operation(Some(request)))
}
