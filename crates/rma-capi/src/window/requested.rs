//! The communication calls with a request (MPI 5.0 §12.3.5): the same operations, whose own end can be waited for together
//! with messages and collectives.

use super::now::{
    accumulate_joins_with_request, accumulate_now, accumulate_runs, get_accumulate_now, get_accumulate_runs,
    get_now, put_joins_with_request, put_now, requested_now,
};
use super::transfer::{Elements, Origin, Target, here_of_accumulate, named, predefined, sides};
use crate::abi::*;
use crate::arguments::{Memory, Out, Wide};
use crate::entry::forms;
use crate::errors::Raiser;
use crate::process::Sought;
use crate::request::{End, Pending, Status, enter_or_end};
use rma::Result;
use rma_core::window::OperationRequest;
use std::ffi::c_int;

forms! {
    /// `MPI_Rput` (§12.3.5).
    fn MPI_Rput | MPI_Rput_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        win: MPI_Win, request: Out<MPI_Request>,
    )
    raises Raiser::Win(win), first {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        requested_now(request, &target, win, || {
            put_now(&origin, &target, win)
        }).is_some()
    }, then put_joins_with_request(&Origin::new(origin_addr, origin_count, origin_datatype), &Target::new(target_rank, target_disp, target_count, target_datatype), win, request).is_some(); |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        request.check("request")?;
        start(win, request, put(origin, target, win)?)
    }

    /// `MPI_Rget` (§12.3.5).
    fn MPI_Rget | MPI_Rget_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        win: MPI_Win, request: Out<MPI_Request>,
    )
    raises Raiser::Win(win), first {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        requested_now(request, &target, win, || {
            get_now(&origin, &target, win)
        }).is_some()
    }; |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        request.check("request")?;
        start(win, request, get(origin, target, win)?)
    }

    /// `MPI_Raccumulate` (§12.3.5).
    fn MPI_Raccumulate | MPI_Raccumulate_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        op: MPI_Op, win: MPI_Win, request: Out<MPI_Request>,
    )
    raises Raiser::Win(win), first {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        requested_now(request, &target, win, || {
            accumulate_now(&origin, &target, op, win)
                .or_else(|| accumulate_runs(&origin, &target, op, win))
        }).is_some()
    }, then accumulate_joins_with_request(&Origin::new(origin_addr, origin_count, origin_datatype), &Target::new(target_rank, target_disp, target_count, target_datatype), op, win, request).is_some(); |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        request.check("request")?;
        start(win, request, accumulate(origin, target, op, win)?)
    }

    /// `MPI_Rget_accumulate` (§12.3.5).
    fn MPI_Rget_accumulate | MPI_Rget_accumulate_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        result_addr: Memory, result_count: Number, result_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        op: MPI_Op, win: MPI_Win, request: Out<MPI_Request>,
    )
    raises Raiser::Win(win), first {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let result = Origin::new(result_addr, result_count, result_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        requested_now(request, &target, win, || {
            get_accumulate_now(&origin, &result, &target, op, win)
                .or_else(|| get_accumulate_runs(&origin, &result, &target, op, win))
        }).is_some()
    }; |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let result = Origin::new(result_addr, result_count, result_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        request.check("request")?;
        start(win, request, get_accumulate(origin, result, target, op, win)?)
    }
}

/// An operation under way; to `MPI_PROC_NULL`, none.
struct Operation(Option<OperationRequest>);

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

fn start(win: MPI_Win, request: Out<MPI_Request>, operation: Operation) -> Result<()> {
    request.set("request", enter_or_end(operation, super::get(win)?.raiser(win))?)
}

fn put<C: Wide>(origin: Origin<C>, target: Target<C>, win: MPI_Win) -> Result<Operation> {
    let window = super::get(win)?;
    let here = Elements::of_origin(&origin, &target)?;
    let there = Elements::at_target(&target)?;
    let Some((rank, disp)) = target.place() else { return target.nowhere().map(|()| Operation(None)) };
    // SAFETY: the buffer is good until the operation is complete, by the contract of `Memory`.
    let request = unsafe { window.inner.rput(here.origin(), rank, there.area(disp)) }?;
    Ok(Operation(Some(request)))
}

fn get<C: Wide>(origin: Origin<C>, target: Target<C>, win: MPI_Win) -> Result<Operation> {
    let window = super::get(win)?;
    let here = Elements::of_origin(&origin, &target)?;
    let there = Elements::at_target(&target)?;
    let Some((rank, disp)) = target.place() else { return target.nowhere().map(|()| Operation(None)) };
    // SAFETY: as in `put`.
    let request = unsafe { window.inner.rget(here.destination(), rank, there.area(disp)) }?;
    Ok(Operation(Some(request)))
}

fn accumulate<C: Wide>(
    origin: Origin<C>,
    target: Target<C>,
    handle: MPI_Op,
    win: MPI_Win,
) -> Result<Operation> {
    let window = super::get(win)?;
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

fn get_accumulate<C: Wide>(
    origin: Origin<C>,
    result: Origin<C>,
    target: Target<C>,
    handle: MPI_Op,
    win: MPI_Win,
) -> Result<Operation> {
    let window = super::get(win)?;
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
