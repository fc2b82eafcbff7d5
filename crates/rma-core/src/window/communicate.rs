//! The window handle and its communication calls (MPI 3.1 §11.3), on bytes side by side and with datatypes on both sides.
//!
//! Every call has two forms: the plain one, which may wait for an operation element, and `try_…`, which answers `false`
//! instead, for callers that drive the engine themselves. A call returns when the operation has been queued or, for mapped
//! targets, carried out; buffers stay the operation's until a synchronization call completes it.
//!
//! Of typed calls what lies side by side takes the calls on bytes; the rest is copied run by run where the target is mapped, and travels
//! with the shape of the target's bytes where it is not ([`super::scattered`]). A datatype may be dropped as soon as the call has
//! returned. Memory is given as raw addresses, so these calls are `unsafe`: the origin's bytes must be readable, and the result's
//! writable, until a synchronization call has completed the operation, as [`ReadSpan::new`] and [`WriteSpan::new`] say. A null address
//! is one to count from (`MPI_BOTTOM`): the type's displacements are then addresses.

use super::query::reachable;
use super::queue::{coalesces, fetch, store};
use super::scattered::{self, Mode};
use super::typed::{self, Destination, Origin, TargetArea, check_accumulate, check_element, dense};
use crate::datatype::BasicType;
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::{Disp, Rank};
use crate::kernel::{CompareAndSwap, Kernel, ReduceOp};
use crate::mem::{ReadSpan, WriteSpan};
use crate::origin::direct;
use crate::state::Shared;
use crate::table::{FetchCall, OpKind, SmallStore};
use crate::wire::Store;
use std::fmt;
use std::sync::Arc;

/// A window. Clones name the same window; any thread may call any method (`MPI_THREAD_MULTIPLE`).
///
/// Dropping the last handle without [`Window::free`] keeps the window alive until the engine goes, because other ranks may
/// still access it: freeing is collective.
#[derive(Clone)]
pub struct Window {
    engine: Engine,
    shared: Arc<Shared>,
}

impl Window {
    pub(super) fn new(engine: Engine, shared: Arc<Shared>) -> Self {
        Self { engine, shared }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// `MPI_Put` of contiguous bytes: stores `origin` at displacement `disp` of `target`.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_RMA_SYNC` without an access epoch, `MPI_ERR_RMA_RANGE` where the target's size is known
    /// here (otherwise the next synchronization call raises it), `MPIX_ERR_PROC_FAILED` when the target is lost.
    #[inline]
    pub fn put(&self, origin: ReadSpan, target: Rank, disp: Disp) -> Result<()> {
        if let Some(mapped) = self.direct(target, "put", origin.len()) {
            return direct::put(&self.shared, mapped, origin, disp)
                .map_err(|range| range.into_error("put", target));
        }
        store(self, target, "put", Store::Put, (disp, origin), Mode::WAIT).map(|_| ())
    }

    /// [`Window::put`] that answers `false` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::put`].
    pub fn try_put(&self, origin: ReadSpan, target: Rank, disp: Disp) -> Result<bool> {
        if let Some(mapped) = self.direct(target, "put", origin.len()) {
            direct::put(&self.shared, mapped, origin, disp)
                .map_err(|range| range.into_error("put", target))?;
            return Ok(true);
        }
        store(self, target, "put", Store::Put, (disp, origin), Mode::TRY).map(|outcome| outcome.is_accepted())
    }

    /// `MPI_Get` of contiguous bytes: fills `result` from displacement `disp` of `target`.
    ///
    /// # Errors
    /// As [`Window::put`].
    #[inline]
    pub fn get(&self, result: WriteSpan, target: Rank, disp: Disp) -> Result<()> {
        if let Some(mapped) = self.direct_load(target, "get", result.len()) {
            return direct::get(mapped, result, disp).map_err(|range| range.into_error("get", target));
        }
        fetch(self, target, "get", &FetchCall::get(result, disp), Mode::WAIT).map(|_| ())
    }

    /// [`Window::get`] that answers `false` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::put`].
    pub fn try_get(&self, result: WriteSpan, target: Rank, disp: Disp) -> Result<bool> {
        if let Some(mapped) = self.direct_load(target, "get", result.len()) {
            direct::get(mapped, result, disp).map_err(|range| range.into_error("get", target))?;
            return Ok(true);
        }
        fetch(self, target, "get", &FetchCall::get(result, disp), Mode::TRY)
            .map(|outcome| outcome.is_accepted())
    }

    /// `MPI_Accumulate` of contiguous elements: combines `origin` with those at displacement `disp` of `target`, each
    /// element in one atomic step. Elements lie without holes: a pair that has some needs [`Window::accumulate_typed`].
    ///
    /// # Errors
    /// As [`Window::put`]; `MPI_ERR_COUNT` when `origin` is not whole elements, `MPI_ERR_OP` for `MPI_NO_OP`.
    #[inline]
    pub fn accumulate(&self, origin: ReadSpan, kernel: Kernel, target: Rank, disp: Disp) -> Result<()> {
        check_accumulate(origin.len(), kernel)?;
        if let Some(mapped) = self.direct(target, "accumulate", origin.len()) {
            return direct::accumulate(&self.shared, mapped, origin, kernel, disp)
                .map_err(|range| range.into_error("accumulate", target));
        }
        store(self, target, "accumulate", Store::Accumulate(kernel), (disp, origin), Mode::WAIT).map(|_| ())
    }

    /// [`Window::accumulate`] that answers `false` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::accumulate`].
    pub fn try_accumulate(&self, origin: ReadSpan, kernel: Kernel, target: Rank, disp: Disp) -> Result<bool> {
        if reachable(self, target).is_some() {
            return self.accumulate(origin, kernel, target, disp).map(|()| true);
        }
        check_accumulate(origin.len(), kernel)?;
        store(self, target, "accumulate", Store::Accumulate(kernel), (disp, origin), Mode::TRY)
            .map(|outcome| outcome.is_accepted())
    }

    /// `MPI_Fetch_and_op`: combines the element at `disp` of `target` with `operand` and stores what it was before in
    /// `result`, in one atomic step. The operand is read before the call returns.
    ///
    /// # Errors
    /// As [`Window::put`]; `MPI_ERR_COUNT` when operand or result is not one element.
    #[inline]
    pub fn fetch_and_op(
        &self,
        operand: &[u8],
        result: WriteSpan,
        kernel: Kernel,
        target: Rank,
        disp: Disp,
    ) -> Result<()> {
        check_element("fetch_and_op", kernel.ty().size(), &[operand.len(), result.len()])?;
        if let Some(mapped) = self.direct(target, "fetch_and_op", result.len()) {
            return direct::fetch_and_op(&self.shared, mapped, operand, result, kernel, disp)
                .map_err(|range| range.into_error("fetch_and_op", target));
        }
        let call = FetchCall::of_element(OpKind::FetchOp(kernel), &[operand], result, disp);
        fetch(self, target, "fetch_and_op", &call, Mode::WAIT).map(|_| ())
    }

    /// [`Window::fetch_and_op`] that answers `false` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::fetch_and_op`].
    pub fn try_fetch_and_op(
        &self,
        operand: &[u8],
        result: WriteSpan,
        kernel: Kernel,
        target: Rank,
        disp: Disp,
    ) -> Result<bool> {
        if reachable(self, target).is_some() {
            return self.fetch_and_op(operand, result, kernel, target, disp).map(|()| true);
        }
        check_element("fetch_and_op", kernel.ty().size(), &[operand.len(), result.len()])?;
        let call = FetchCall::of_element(OpKind::FetchOp(kernel), &[operand], result, disp);
        fetch(self, target, "fetch_and_op", &call, Mode::TRY).map(|outcome| outcome.is_accepted())
    }

    /// `MPI_Compare_and_swap`: replaces the element at `disp` of `target` by `operand` if it equals `compare`, and stores
    /// what it was before in `result`, in one atomic step. Both operands are read before the call returns.
    ///
    /// # Errors
    /// As [`Window::put`]; `MPI_ERR_COUNT` when an operand or the result is not one element.
    #[inline]
    pub fn compare_and_swap(
        &self,
        operand: &[u8],
        compare: &[u8],
        result: WriteSpan,
        kernel: CompareAndSwap,
        target: Rank,
        disp: Disp,
    ) -> Result<()> {
        let size = kernel.ty().size();
        check_element("compare_and_swap", size, &[operand.len(), compare.len(), result.len()])?;
        if let Some(mapped) = self.direct(target, "compare_and_swap", result.len()) {
            return direct::compare_and_swap(&self.shared, mapped, operand, compare, result, kernel, disp)
                .map_err(|range| range.into_error("compare_and_swap", target));
        }
        let call = FetchCall::of_element(OpKind::CompareSwap(kernel), &[compare, operand], result, disp);
        fetch(self, target, "compare_and_swap", &call, Mode::WAIT).map(|_| ())
    }

    /// [`Window::compare_and_swap`] that answers `false` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::compare_and_swap`].
    pub fn try_compare_and_swap(
        &self,
        operand: &[u8],
        compare: &[u8],
        result: WriteSpan,
        kernel: CompareAndSwap,
        target: Rank,
        disp: Disp,
    ) -> Result<bool> {
        if reachable(self, target).is_some() {
            return self.compare_and_swap(operand, compare, result, kernel, target, disp).map(|()| true);
        }
        let size = kernel.ty().size();
        check_element("compare_and_swap", size, &[operand.len(), compare.len(), result.len()])?;
        let call = FetchCall::of_element(OpKind::CompareSwap(kernel), &[compare, operand], result, disp);
        fetch(self, target, "compare_and_swap", &call, Mode::TRY).map(|outcome| outcome.is_accepted())
    }

    /// [`Window::put`], or [`Window::rput`] where it is requested, if it is nothing but a copy into a pack of others that wait; says
    /// whether it has been done. One that is requested is complete then.
    pub fn put_coalesces(&self, origin: ReadSpan, target: Rank, disp: Disp, is_requested: bool) -> bool {
        let call = if is_requested { "rput" } else { "put" };
        coalesces(self, target, call, SmallStore::new(Store::Put, disp, origin), is_requested)
    }

    /// [`Window::accumulate`] or [`Window::raccumulate`] of one element, likewise.
    pub fn accumulate_coalesces(
        &self,
        origin: ReadSpan,
        kernel: Kernel,
        target: Rank,
        disp: Disp,
        is_requested: bool,
    ) -> bool {
        let call = if is_requested { "raccumulate" } else { "accumulate" };
        let small = || SmallStore::new(Store::Accumulate(kernel), disp, origin);
        kernel.op().is_accumulate()
            && origin.len() == kernel.ty().size()
            && coalesces(self, target, call, small(), is_requested)
    }

    /// `MPI_Put`.
    ///
    /// # Errors
    /// As [`Window::put`], for any byte that the target's type covers; `MPI_ERR_COUNT` when a count times its type does not fit 63 bits;
    /// `MPI_ERR_TRUNCATE` when the origin has more bytes than the target's type, `MPI_ERR_TYPE` when it has fewer.
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
        unsafe { scattered::put(self, origin, target, area, Mode::WAIT) }.map(|_| ())
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
        unsafe { scattered::put(self, origin, target, area, Mode::TRY) }.map(|outcome| outcome.is_accepted())
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
        unsafe { scattered::get(self, result, target, area, Mode::WAIT) }.map(|_| ())
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
        unsafe { scattered::get(self, result, target, area, Mode::TRY) }.map(|outcome| outcome.is_accepted())
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
        unsafe { scattered::accumulate(self, origin, op, target, area, Mode::WAIT) }.map(|_| ())
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
        unsafe { scattered::accumulate(self, origin, op, target, area, Mode::TRY) }
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
        unsafe { scattered::get_accumulate(self, origin, result, op, target, area, Mode::WAIT) }.map(|_| ())
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
        typed::get_accumulate_elements(self, origin, result, kernel, target, disp)
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
        unsafe { scattered::get_accumulate(self, origin, result, op, target, area, Mode::TRY) }
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
        // SAFETY: the caller's promise.
        unsafe { typed::fetch_and_op(self, origin, result, ty, op, target, disp) }
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
        // SAFETY: the caller's promise.
        unsafe { typed::compare_and_swap(self, origin, compare, result, ty, target, disp) }
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Window {} (rank {} of {})", self.id(), self.rank(), self.size())
    }
}
