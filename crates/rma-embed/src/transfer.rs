//! Communication calls.

use crate::abi::{Buffer, Target};
use crate::datatype::{basic, datatype};
use crate::entry::entry;
use crate::pointer::{In, Out};
use crate::under_way::{EngineCall, enter_started};
use crate::window::WINDOWS;
use rma_core::datatype::{BasicType, Datatype};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, Kernel, ReduceOp};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::window::{Destination, OperationRequest, Origin, TargetArea, Window};
use rma_core::{Error, ErrorClass, Result};
use std::ffi::c_int;

/// Elements in the caller's memory.
struct Local {
    start: *mut u8,
    count: u64,
    ty: Datatype,
}

/// Elements at the target.
struct Remote {
    rank: Rank,
    disp: Disp,
    count: u64,
    ty: Datatype,
}

impl Local {
    fn of(buffer: In<Buffer>, name: &str) -> Result<Self> {
        let Buffer { memory, count, ty } = buffer.get(name)?;
        let ty = datatype(ty)?;
        if memory.is_null() && ty.dense_len(count).is_some_and(|len| len > 0) {
            let cause = format!("{name} has null memory for {count} elements");
            return Err(Error::new(ErrorClass::Buffer, "rma", cause));
        }
        Ok(Self { start: memory.cast(), count, ty })
    }

    /// The origin of an operation that may have none.
    fn of_operand(buffer: In<Buffer>, op: ReduceOp, target: &Remote) -> Result<Self> {
        if op == ReduceOp::NoOp {
            return Ok(Self { start: std::ptr::null_mut(), count: target.count, ty: target.ty.clone() });
        }
        Self::of(buffer, "origin")
    }

    fn origin(&self) -> Origin<'_> {
        Origin { base: self.start, count: self.count, ty: &self.ty }
    }

    fn destination(&self) -> Destination<'_> {
        Destination { base: self.start, count: self.count, ty: &self.ty }
    }

    /// Bytes, when they lie side by side here and at the target.
    fn dense(&self, target: &Remote) -> Option<usize> {
        let len =
            self.ty.dense_len(self.count).filter(|len| target.ty.dense_len(target.count) == Some(*len))?;
        usize::try_from(len).ok()
    }
}

impl Remote {
    fn of(target: In<Target>) -> Result<Self> {
        let Target { rank, disp, count, ty } = target.get("target")?;
        Ok(Self { rank: Rank(rank), disp: Disp(disp), count, ty: datatype(ty)? })
    }

    fn area(&self) -> TargetArea<'_> {
        TargetArea { disp: self.disp, count: self.count, ty: &self.ty }
    }
}

// In all of these, the embedder's promise is that buffers are what they are said to be until the operation is complete.
entry! {
    /// `rma_put`.
    fn rma_put(window: u64, origin: In<Buffer>, target: In<Target>) {
        let (window, origin, target) =
            (WINDOWS.get(window)?, Local::of(origin, "origin")?, Remote::of(target)?);
        match origin.dense(&target) {
            Some(len) => {
                // SAFETY: the embedder's promise.
                window.try_put(unsafe { ReadSpan::new(origin.start, len) }, target.rank, target.disp)
            }
            // SAFETY: as above.
            None => unsafe { window.try_put_typed(origin.origin(), target.rank, target.area()) },
        }
    }

    /// `rma_get`.
    fn rma_get(window: u64, result: In<Buffer>, target: In<Target>) {
        let (window, result, target) =
            (WINDOWS.get(window)?, Local::of(result, "result")?, Remote::of(target)?);
        match result.dense(&target) {
            Some(len) => {
                // SAFETY: the embedder's promise.
                window.try_get(unsafe { WriteSpan::new(result.start, len) }, target.rank, target.disp)
            }
            // SAFETY: as above.
            None => unsafe { window.try_get_typed(result.destination(), target.rank, target.area()) },
        }
    }

    /// `rma_accumulate`.
    fn rma_accumulate(window: u64, origin: In<Buffer>, op: c_int, target: In<Target>) {
        let (window, origin, target) =
            (WINDOWS.get(window)?, Local::of(origin, "origin")?, Remote::of(target)?);
        // SAFETY: the embedder's promise.
        unsafe { window.try_accumulate_typed(origin.origin(), operation(op)?, target.rank, target.area()) }
    }

    /// `rma_get_accumulate`.
    fn rma_get_accumulate(
        window: u64, origin: In<Buffer>, result: In<Buffer>, op: c_int, target: In<Target>,
    ) {
        let (window, result, target) =
            (WINDOWS.get(window)?, Local::of(result, "result")?, Remote::of(target)?);
        let op = operation(op)?;
        let origin = Local::of_operand(origin, op, &target)?;
        let (from, to) = (origin.origin(), result.destination());
        // SAFETY: the embedder's promise.
        unsafe { window.try_get_accumulate(from, to, op, target.rank, target.area()) }
    }

    /// `rma_fetch_and_op`.
    fn rma_fetch_and_op(
        window: u64, origin: In<u8>, result: Out<u8>, ty: u64, op: c_int, rank: u32, disp: u64,
    ) {
        let (window, ty, op) = (WINDOWS.get(window)?, basic(ty)?, operation(op)?);
        let start = result.present("result")?;
        if op != ReduceOp::NoOp && origin.is_null() {
            return Err(Error::new(ErrorClass::Buffer, "rma", "origin is null"));
        }
        fetch_and_op(&window, origin, start, ty, op, (Rank(rank), Disp(disp)))
    }

    /// `rma_compare_and_swap`.
    fn rma_compare_and_swap(
        window: u64, origin: In<u8>, compare: In<u8>, result: Out<u8>, ty: u64, rank: u32, disp: u64,
    ) {
        let (window, ty, start) = (WINDOWS.get(window)?, basic(ty)?, result.present("result")?);
        let Some(kernel) = CompareAndSwap::new(ty) else {
            let cause = format!("elements of {ty} cannot be compared and swapped");
            return Err(Error::new(ErrorClass::Type, "rma", cause));
        };
        let (origin, compare) = (origin.list(ty.size(), "origin")?, compare.list(ty.size(), "compare")?);
        // SAFETY: the embedder's promise.
        let result = unsafe { WriteSpan::new(start, ty.size()) };
        window.try_compare_and_swap(&origin, &compare, result, kernel, Rank(rank), Disp(disp))
    }

    /// `rma_rput`.
    fn rma_rput(window: u64, origin: In<Buffer>, target: In<Target>, call: Out<u64>) {
        let (window, origin, target) =
            (WINDOWS.get(window)?, Local::of(origin, "origin")?, Remote::of(target)?);
        let place = call.needed("call")?;
        // SAFETY: the embedder's promise.
        let request = unsafe { window.try_rput(origin.origin(), target.rank, target.area())? };
        requested(request).map(|call| call.map(|call| place.set(call)).is_some())
    }

    /// `rma_rget`.
    fn rma_rget(window: u64, result: In<Buffer>, target: In<Target>, call: Out<u64>) {
        let (window, result, target) =
            (WINDOWS.get(window)?, Local::of(result, "result")?, Remote::of(target)?);
        let place = call.needed("call")?;
        // SAFETY: the embedder's promise.
        let request = unsafe { window.try_rget(result.destination(), target.rank, target.area())? };
        requested(request).map(|call| call.map(|call| place.set(call)).is_some())
    }

    /// `rma_raccumulate`.
    fn rma_raccumulate(window: u64, origin: In<Buffer>, op: c_int, target: In<Target>, call: Out<u64>) {
        let (window, origin, target) =
            (WINDOWS.get(window)?, Local::of(origin, "origin")?, Remote::of(target)?);
        let (place, op) = (call.needed("call")?, operation(op)?);
        // SAFETY: the embedder's promise.
        let request = unsafe { window.try_raccumulate(origin.origin(), op, target.rank, target.area())? };
        requested(request).map(|call| call.map(|call| place.set(call)).is_some())
    }

    /// `rma_rget_accumulate`.
    fn rma_rget_accumulate(
        window: u64, origin: In<Buffer>, result: In<Buffer>, op: c_int, target: In<Target>, call: Out<u64>,
    ) {
        let (window, result, target) =
            (WINDOWS.get(window)?, Local::of(result, "result")?, Remote::of(target)?);
        let (place, op) = (call.needed("call")?, operation(op)?);
        let origin = Local::of_operand(origin, op, &target)?;
        let (from, to) = (origin.origin(), result.destination());
        // SAFETY: the embedder's promise.
        let request = unsafe { window.try_rget_accumulate(from, to, op, target.rank, target.area())? };
        requested(request).map(|call| call.map(|call| place.set(call)).is_some())
    }
}

/// The handle of a request; `None` when there was no room for the operation.
fn requested(request: Option<OperationRequest>) -> Result<Option<u64>> {
    request.map(|request| enter_started(EngineCall::Request(request))).transpose()
}

fn fetch_and_op(
    window: &Window,
    origin: In<u8>,
    result: *mut u8,
    ty: BasicType,
    op: ReduceOp,
    (rank, disp): (Rank, Disp),
) -> Result<bool> {
    let Some(kernel) = Kernel::new(op, ty) else {
        return Err(Error::new(ErrorClass::Op, "rma", format!("{op} is not defined on {ty}")));
    };
    if !ty.is_word() {
        let (count, ty) = (1, &Datatype::basic(ty));
        let from = Origin { base: origin.address(), count, ty };
        // SAFETY: the embedder's promise.
        return unsafe {
            window.try_get_accumulate(
                from,
                Destination { base: result, count, ty },
                op,
                rank,
                TargetArea { disp, count, ty },
            )
        };
    }
    let operand = if op == ReduceOp::NoOp { vec![0; ty.size()] } else { origin.list(ty.size(), "origin")? };
    // SAFETY: the embedder's promise.
    let result = unsafe { WriteSpan::new(result, ty.size()) };
    window.try_fetch_and_op(&operand, result, kernel, rank, disp)
}

fn operation(code: c_int) -> Result<ReduceOp> {
    u8::try_from(code)
        .ok()
        .and_then(ReduceOp::from_code)
        .ok_or_else(|| Error::new(ErrorClass::Op, "rma", format!("{code} is no operation")))
}
