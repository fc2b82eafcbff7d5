//! Communication calls with datatypes on both sides (MPI 3.1 §11.3).
//!
//! These calls are for users that describe memory as C programs do: an address, a count and a type. What lies
//! side by side takes the calls of [`super::calls`]; the rest is copied run by run where the target is
//! mapped, and travels with the shape of the target's bytes where it is not. A datatype may be dropped as
//! soon as the call has returned.
//!
//! Memory is given as raw addresses, so the calls are `unsafe`: the origin's bytes must be readable, and the result's
//! writable, until a synchronization call has completed the operation, as [`ReadSpan::new`] and [`WriteSpan::new`] say. A
//! null address is one to count from (`MPI_BOTTOM`): the type's displacements are then addresses.

use super::calls::Window;
use super::scattered::Mode;
use crate::control::OperationKind;
use crate::datatype::{BasicType, Datatype};
use crate::error::{Error, ErrorClass, Result};
use crate::ids::{Disp, Rank};
use crate::kernel::{CompareAndSwap, Kernel, ReduceOp};
use crate::mem::{ReadSpan, WriteSpan};
use crate::origin::fetch::FetchCall;

/// Elements in the caller's memory that a call reads.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The address that the type's displacements count from.
    pub base: *const u8,
    /// Number of elements.
    pub count: u64,
    /// Their type.
    pub ty: &'a Datatype,
}

/// Elements in the caller's memory that a call fills.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The address that the type's displacements count from.
    pub base: *mut u8,
    /// Number of elements.
    pub count: u64,
    /// Their type.
    pub ty: &'a Datatype,
}

/// Elements in the target's window.
#[derive(Clone, Copy, Debug)]
pub struct TargetArea<'a> {
    /// What the type's displacements count from, in units of the target's displacement unit.
    pub disp: Disp,
    /// Number of elements.
    pub count: u64,
    /// Their type.
    pub ty: &'a Datatype,
}

impl Window {
    /// `MPI_Put`.
    ///
    /// # Errors
    /// As [`Window::put`], for any byte that the target's type covers; `MPI_ERR_COUNT` when a count times its type does not
    /// fit 63 bits; `MPI_ERR_TRUNCATE` when the origin has more bytes than the target's type, `MPI_ERR_TYPE` when it has
    /// fewer.
    ///
    /// # Safety
    /// The origin's bytes must be readable until the operation is locally complete; see the module.
    #[inline]
    pub unsafe fn put_typed(&self, origin: Origin<'_>, target: Rank, area: TargetArea<'_>) -> Result<()> {
        if let Some(len) = dense(origin.ty, origin.count)
            && dense(area.ty, area.count) == Some(len)
        {
            // SAFETY: the caller's promise, for bytes that lie side by side.
            return self.put(unsafe { ReadSpan::new(origin.base, len) }, target, area.disp);
        }
        // SAFETY: the caller's promise.
        unsafe { self.put_scattered(origin, target, area, Mode::Wait) }.map(|_| ())
    }

    /// [`Window::put_typed`] that answers `false` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::put_typed`].
    ///
    /// # Safety
    /// As [`Window::put_typed`].
    pub unsafe fn try_put_typed(
        &self,
        origin: Origin<'_>,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<bool> {
        // SAFETY: the caller's promise.
        unsafe { self.put_scattered(origin, target, area, Mode::Try) }.map(|outcome| outcome.is_accepted())
    }

    /// `MPI_Get`.
    ///
    /// # Errors
    /// As [`Window::put_typed`], with `MPI_ERR_TRUNCATE` when the target's type has more bytes than the result, and
    /// `MPI_ERR_TYPE` when it has fewer.
    ///
    /// # Safety
    /// The result's bytes must be writable until the operation is complete; see the module.
    #[inline]
    pub unsafe fn get_typed(
        &self,
        result: Destination<'_>,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<()> {
        if let Some(len) = dense(result.ty, result.count)
            && dense(area.ty, area.count) == Some(len)
        {
            // SAFETY: the caller's promise, for bytes that lie side by side.
            return self.get(unsafe { WriteSpan::new(result.base, len) }, target, area.disp);
        }
        // SAFETY: the caller's promise.
        unsafe { self.get_scattered(result, target, area, Mode::Wait) }.map(|_| ())
    }

    /// [`Window::get_typed`] that answers `false` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::get_typed`].
    ///
    /// # Safety
    /// As [`Window::get_typed`].
    pub unsafe fn try_get_typed(
        &self,
        result: Destination<'_>,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<bool> {
        // SAFETY: the caller's promise.
        unsafe { self.get_scattered(result, target, area, Mode::Try) }.map(|outcome| outcome.is_accepted())
    }

    /// `MPI_Accumulate`: each element of the target in one atomic step.
    ///
    /// # Errors
    /// As [`Window::put_typed`]; `MPI_ERR_TYPE` when the two types do not consist of one and the same basic type,
    /// `MPI_ERR_OP` when the operation is not defined on it, and for `MPI_NO_OP`.
    ///
    /// # Safety
    /// As [`Window::put_typed`].
    #[inline]
    pub unsafe fn accumulate_typed(
        &self,
        origin: Origin<'_>,
        op: ReduceOp,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<()> {
        if let Some(len) = dense(origin.ty, origin.count)
            && dense(area.ty, area.count) == Some(len)
            && let Some(ty) = area.ty.basic_type()
            && origin.ty.basic_type() == Some(ty)
            && let Some(kernel) = Kernel::new(op, ty)
        {
            // SAFETY: the caller's promise, for bytes that lie side by side.
            return self.accumulate(unsafe { ReadSpan::new(origin.base, len) }, kernel, target, area.disp);
        }
        // SAFETY: the caller's promise.
        unsafe { self.accumulate_scattered(origin, op, target, area, Mode::Wait) }.map(|_| ())
    }

    /// [`Window::accumulate_typed`] that answers `false` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::accumulate_typed`].
    ///
    /// # Safety
    /// As [`Window::put_typed`].
    pub unsafe fn try_accumulate_typed(
        &self,
        origin: Origin<'_>,
        op: ReduceOp,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<bool> {
        // SAFETY: the caller's promise.
        unsafe { self.accumulate_scattered(origin, op, target, area, Mode::Try) }
            .map(|outcome| outcome.is_accepted())
    }

    /// `MPI_Get_accumulate`: combines the elements of the target with those of `origin` and stores what they were before in
    /// `result`, each element in one atomic step. `origin` is ignored for `MPI_NO_OP`.
    ///
    /// # Errors
    /// As [`Window::accumulate_typed`], for the result too; `MPI_NO_OP` is legal.
    ///
    /// # Safety
    /// The origin's bytes must be readable, and the result's writable, until the operation is complete; the two must not
    /// overlap. See the module.
    pub unsafe fn get_accumulate(
        &self,
        origin: Origin<'_>,
        result: Destination<'_>,
        op: ReduceOp,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<()> {
        if let Some(len) = dense(area.ty, area.count)
            && dense(result.ty, result.count) == Some(len)
            && (op == ReduceOp::NoOp || dense(origin.ty, origin.count) == Some(len))
            && let Some(ty) = area.ty.basic_type()
            && result.ty.basic_type() == Some(ty)
            && (op == ReduceOp::NoOp || origin.ty.basic_type() == Some(ty))
            && let Some(kernel) = Kernel::new(op, ty)
        {
            // SAFETY: the caller's promise, for bytes that lie side by side; those of a no-op's origin are not used.
            let (from, old) = unsafe { (ReadSpan::new(origin.base, len), WriteSpan::new(result.base, len)) };
            return self.get_accumulate_elements(from, old, kernel, target, area.disp);
        }
        // SAFETY: the caller's promise.
        unsafe { self.get_accumulate_scattered(origin, result, op, target, area, Mode::Wait) }.map(|_| ())
    }

    /// [`Window::get_accumulate`] of elements that lie side by side on all sides. `origin` is not read for `MPI_NO_OP`.
    ///
    /// # Errors
    /// As [`Window::put`]; `MPI_ERR_COUNT` when `result` is not whole elements, or `origin` is of another length.
    #[inline]
    pub fn get_accumulate_elements(
        &self,
        origin: ReadSpan,
        result: WriteSpan,
        kernel: Kernel,
        target: Rank,
        disp: Disp,
    ) -> Result<()> {
        const CALL: &str = "get_accumulate";
        if !kernel.ty().divides(result.len()) || origin.len() != result.len() {
            let cause = format!("{} and {} bytes of {}", origin.len(), result.len(), kernel.ty());
            return Err(Error::new(ErrorClass::Count, CALL, cause));
        }
        let Some(mapped) = self.direct(target, CALL, result.len()) else {
            return self.post_fetch(target, CALL, FetchCall::accumulate(origin, result, kernel, disp));
        };
        let _pin = mapped.pin();
        let place = mapped.locate(disp, result.len() as u64);
        let place = place.map_err(|range| range.into_error(CALL, target))?;
        let domain = self.shared().domain(mapped);
        let _note = kernel.reads_operand().then(|| domain.note(OperationKind::Accumulate, place));
        kernel.fetch_accumulate(place, origin, result, &domain);
        Ok(())
    }

    /// [`Window::get_accumulate`] that answers `false` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::get_accumulate`].
    ///
    /// # Safety
    /// As [`Window::get_accumulate`].
    pub unsafe fn try_get_accumulate(
        &self,
        origin: Origin<'_>,
        result: Destination<'_>,
        op: ReduceOp,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<bool> {
        // SAFETY: the caller's promise.
        unsafe { self.get_accumulate_scattered(origin, result, op, target, area, Mode::Try) }
            .map(|outcome| outcome.is_accepted())
    }

    /// `MPI_Fetch_and_op` of one element of any basic type. `origin` is ignored for `MPI_NO_OP`.
    ///
    /// # Errors
    /// As [`Window::fetch_and_op`]; `MPI_ERR_OP` when the operation is not defined on the type.
    ///
    /// # Safety
    /// As [`Window::get_accumulate`].
    #[inline]
    pub unsafe fn fetch_and_op_typed(
        &self,
        origin: *const u8,
        result: *mut u8,
        ty: BasicType,
        op: ReduceOp,
        target: Rank,
        disp: Disp,
    ) -> Result<()> {
        const CALL: &str = "fetch_and_op";
        let Some(kernel) = Kernel::new(op, ty) else { return Err(undefined(CALL, op, ty)) };
        let size = ty.word_size();
        if size == 0 {
            let ty = Datatype::basic(ty);
            let (count, ty) = (1, &ty);
            let (origin, result) =
                (Origin { base: origin, count, ty }, Destination { base: result, count, ty });
            // SAFETY: the caller's promise.
            let done =
                unsafe { self.get_accumulate(origin, result, op, target, TargetArea { disp, count, ty }) };
            return done.map_err(|error| error.in_call(CALL));
        }
        let mut operand = [0; 8];
        let operand = &mut operand[..size];
        if kernel.reads_operand() {
            // SAFETY: the caller's promise, used only here.
            unsafe { ReadSpan::new(origin, size) }.read(operand);
        }
        // SAFETY: the caller's promise.
        self.fetch_and_op(operand, unsafe { WriteSpan::new(result, size) }, kernel, target, disp)
    }

    /// `MPI_Compare_and_swap` of one element.
    ///
    /// # Errors
    /// As [`Window::compare_and_swap`]; `MPI_ERR_TYPE` when elements of this type cannot be compared.
    ///
    /// # Safety
    /// One element must be readable at `origin` and at `compare` during the call, and one writable at `result` until the
    /// operation is complete; see the module.
    #[inline]
    pub unsafe fn compare_and_swap_typed(
        &self,
        origin: *const u8,
        compare: *const u8,
        result: *mut u8,
        ty: BasicType,
        target: Rank,
        disp: Disp,
    ) -> Result<()> {
        let Some(kernel) = CompareAndSwap::new(ty) else {
            let cause = format!("elements of {ty} cannot be compared and swapped");
            return Err(Error::new(ErrorClass::Type, "compare_and_swap", cause));
        };
        let size = ty.size();
        let (mut operand, mut comparand) = ([0; 8], [0; 8]);
        let (operand, comparand) = (&mut operand[..size], &mut comparand[..size]);
        // SAFETY: the caller's promise, used only here.
        unsafe {
            ReadSpan::new(origin, size).read(operand);
            ReadSpan::new(compare, size).read(comparand);
        }
        // SAFETY: the caller's promise.
        let result = unsafe { WriteSpan::new(result, size) };
        self.compare_and_swap(operand, comparand, result, kernel, target, disp)
    }
}

/// Bytes of so many elements, when they lie side by side from the address on.
#[inline]
fn dense(ty: &Datatype, count: u64) -> Option<usize> {
    usize::try_from(ty.dense_len(count)?).ok()
}

#[cold]
pub(super) fn undefined(call: &'static str, op: ReduceOp, ty: BasicType) -> Error {
    Error::new(ErrorClass::Op, call, format!("{op} is not defined on {ty}"))
}
