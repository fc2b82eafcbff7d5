//! The window handle and its communication calls (MPI 3.1 §11.3).
//!
//! Every call has two forms: the plain one, which may wait for an operation element, and `try_…`, which answers `false`
//! instead, for callers that drive the engine themselves. A call returns when the operation has been queued or, for mapped
//! targets, carried out; buffers stay the operation's until a synchronization call completes it.

use crate::engine::Engine;
use crate::error::{Error, ErrorClass, Result};
use crate::ids::{Disp, Rank, WindowId};
use crate::kernel::{CompareAndSwap, Kernel, ReduceOp};
use crate::mem::{ReadSpan, WriteSpan};
use crate::origin::direct;
use crate::origin::fetch::{FetchCall, OPERAND_BYTES};
use crate::origin::pack::Small;
use crate::origin::post::post;
use crate::progress::Core;
use crate::state::{Flavor, MappedTarget, Shared, gone};
use crate::table::{OpKind, Operation, Target};
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

    /// The caller's rank in the window's group.
    pub fn rank(&self) -> Rank {
        self.shared.group.me()
    }

    /// Number of ranks in the window's group.
    pub fn size(&self) -> u32 {
        self.shared.group.size()
    }

    /// How the window came by its memory.
    pub fn flavor(&self) -> Flavor {
        self.shared.flavor
    }

    /// The window's id; the same on all ranks.
    pub fn id(&self) -> WindowId {
        self.shared.id
    }

    /// The memory that this rank exposes.
    ///
    /// # Safety
    /// Spans do not know how long their memory is mapped: this one must not be used once the window is freed.
    pub unsafe fn local(&self) -> WriteSpan {
        self.shared.own().span
    }

    /// Whether the memory of `rank` is mapped in this process, so that operations on it take the direct path.
    pub fn is_direct(&self, rank: Rank) -> bool {
        self.shared.mapped(rank).is_some()
    }

    /// Memory and displacement unit of a mapped rank.
    ///
    /// # Safety
    /// As for [`Window::local`].
    pub unsafe fn mapped(&self, rank: Rank) -> Option<(WriteSpan, u64)> {
        self.shared.mapped(rank).map(|mapped| (mapped.span, mapped.scale.unit()))
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
        self.store(target, "put", Store::Put, disp, origin)
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
        self.try_store(target, "put", Store::Put, disp, origin)
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
        self.post_fetch(target, "get", FetchCall::get(result, disp))
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
        self.try_post_fetch(target, "get", FetchCall::get(result, disp))
    }

    /// `MPI_Accumulate` of contiguous elements: combines `origin` with those at displacement `disp` of `target`, each
    /// element in one atomic step. Elements lie without holes: a pair that has some needs [`Window::accumulate_typed`].
    ///
    /// # Errors
    /// As [`Window::put`]; `MPI_ERR_COUNT` when `origin` is not whole elements, `MPI_ERR_OP` for `MPI_NO_OP`.
    #[inline]
    pub fn accumulate(&self, origin: ReadSpan, kernel: Kernel, target: Rank, disp: Disp) -> Result<()> {
        if !kernel.ty().divides(origin.len()) || !kernel.op().is_accumulate() {
            return Err(bad_accumulate(origin.len(), kernel));
        }
        if let Some(mapped) = self.direct(target, "accumulate", origin.len()) {
            return direct::accumulate(&self.shared, mapped, origin, kernel, disp)
                .map_err(|range| range.into_error("accumulate", target));
        }
        self.store(target, "accumulate", Store::Accumulate(kernel), disp, origin)
    }

    /// [`Window::accumulate`] that answers `false` instead of waiting for an operation element.
    ///
    /// # Errors
    /// As [`Window::accumulate`].
    pub fn try_accumulate(&self, origin: ReadSpan, kernel: Kernel, target: Rank, disp: Disp) -> Result<bool> {
        if self.reachable(target).is_some() {
            return self.accumulate(origin, kernel, target, disp).map(|()| true);
        }
        if !kernel.ty().divides(origin.len()) || !kernel.op().is_accumulate() {
            return Err(bad_accumulate(origin.len(), kernel));
        }
        self.try_store(target, "accumulate", Store::Accumulate(kernel), disp, origin)
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
        let fetch = FetchCall::of_element(OpKind::FetchOp(kernel), &[operand], result, disp);
        self.post_fetch(target, "fetch_and_op", fetch)
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
        if self.reachable(target).is_some() {
            return self.fetch_and_op(operand, result, kernel, target, disp).map(|()| true);
        }
        check_element("fetch_and_op", kernel.ty().size(), &[operand.len(), result.len()])?;
        let fetch = FetchCall::of_element(OpKind::FetchOp(kernel), &[operand], result, disp);
        self.try_post_fetch(target, "fetch_and_op", fetch)
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
        let fetch = FetchCall::of_element(OpKind::CompareSwap(kernel), &[compare, operand], result, disp);
        self.post_fetch(target, "compare_and_swap", fetch)
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
        if self.reachable(target).is_some() {
            return self.compare_and_swap(operand, compare, result, kernel, target, disp).map(|()| true);
        }
        let size = kernel.ty().size();
        check_element("compare_and_swap", size, &[operand.len(), compare.len(), result.len()])?;
        let fetch = FetchCall::of_element(OpKind::CompareSwap(kernel), &[compare, operand], result, disp);
        self.try_post_fetch(target, "compare_and_swap", fetch)
    }

    /// Number of operations of this rank whose buffers the engine may still use.
    pub fn outstanding(&self) -> u64 {
        self.engine.with(|core| {
            let Core { state, windows, .. } = core;
            let Some(window) = windows.get_mut(self.shared.id) else { return 0 };
            let targets = window.table.keys(&state.pools.targets);
            let of_table: u64 = targets
                .iter()
                .map(|key| &state.pools.targets[*key])
                .map(|t| t.pending.len() + t.issued.len())
                .sum();
            of_table
        })
    }

    /// Number of operations on `target` whose buffers the engine may still use.
    pub fn outstanding_to(&self, target: Rank) -> u64 {
        self.engine.with(|core| {
            let Core { state, windows, .. } = core;
            let Some(window) = windows.get_mut(self.shared.id) else { return 0 };
            let target = window.table.find(&state.pools.targets, target).map(|key| &state.pools.targets[key]);
            let of_target = |target: &Target| target.pending.len() + target.issued.len();
            target.map_or(0, of_target)
        })
    }

    /// What the user calls the window (`MPI_Win_set_name`), for messages and traces; empty for no name.
    pub fn set_name(&self, name: &str) {
        self.engine.observation().name_window(self.shared.id, name);
    }

    /// Whether stores of the direct path are still to be ordered by a flush; for tests.
    #[doc(hidden)]
    pub fn needs_store_fence(&self) -> bool {
        self.shared.store_fence.is_set()
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// [`Window::direct_load`] for a call that may store there otherwise than by atomic steps.
    #[inline]
    pub(crate) fn direct(&self, target: Rank, call: &'static str, len: usize) -> Option<&MappedTarget> {
        let mapped = self.direct_load(target, call, len)?;
        self.shared.store_fence.note();
        Some(mapped)
    }

    /// The target's mapped memory, if it has some here and an epoch is open to it. Everything else takes the slow path,
    /// which also finds out what is wrong. `call` and `len` are for the observer and the statistics.
    #[inline]
    pub(crate) fn direct_load(&self, target: Rank, call: &'static str, len: usize) -> Option<&MappedTarget> {
        match self.shared.silent(target) {
            Some(mapped) if self.shared.is_open(mapped) => Some(mapped),
            _ => self.direct_observed(target, call, len),
        }
    }

    /// [`Window::direct_load`] where an observer sees it, or operations are counted.
    #[cold]
    fn direct_observed(&self, target: Rank, call: &'static str, len: usize) -> Option<&MappedTarget> {
        let (observation, mapped_counts) = (self.engine.observation(), self.shared.mapped_counts.as_deref());
        if !observation.is_on() && mapped_counts.is_none() {
            return None;
        }
        let mapped = self.reachable(target)?;
        if let Some(mapped_counts) = mapped_counts {
            mapped_counts.count(call, len);
        }
        if observation.is_on() {
            observation.direct(call, self.shared.id, target, len as u64);
        }
        Some(mapped)
    }

    /// The target's mapped memory, if it has some here and an epoch is open to it.
    fn reachable(&self, target: Rank) -> Option<&MappedTarget> {
        self.shared.mapped(target).filter(|mapped| self.shared.is_open(mapped))
    }

    /// Makes a call that stores bytes side by side.
    #[inline(never)]
    fn store(
        &self,
        target: Rank,
        call: &'static str,
        store: Store,
        disp: Disp,
        origin: ReadSpan,
    ) -> Result<()> {
        let _call = self.trace(call, Some(target));
        let small = Small::new(store, disp, origin);
        if small.as_ref().is_some_and(|small| self.goes_along(target, small)) {
            return Ok(());
        }
        self.queue(target, call, small, || Operation::store(store, disp, origin))
    }

    /// [`Window::store`] that answers `false` instead of waiting for an operation element.
    fn try_store(
        &self,
        target: Rank,
        call: &'static str,
        store: Store,
        disp: Disp,
        origin: ReadSpan,
    ) -> Result<bool> {
        let small = Small::new(store, disp, origin);
        if small.is_some_and(|small| self.goes_along(target, &small)) {
            return Ok(true);
        }
        self.try_post(target, call, Operation::store(store, disp, origin)).map(|rest| rest.is_none())
    }

    #[cold]
    pub(crate) fn post(
        &self,
        target: Rank,
        call: &'static str,
        make: impl FnOnce() -> Operation,
    ) -> Result<()> {
        self.queue(target, call, None, make)
    }

    /// Queues an operation, or has a small store join others.
    #[cold]
    fn queue(
        &self,
        target: Rank,
        call: &'static str,
        small: Option<Small>,
        make: impl FnOnce() -> Operation,
    ) -> Result<()> {
        let mut rest = None;
        let is_pack_full = self.engine.with(|core| {
            if small.is_some_and(|small| self.joins_pack(core, target, &small)) {
                return Ok(false);
            }
            rest = Some(make());
            self.post_once(core, target, call, &mut rest)?;
            Ok(std::mem::take(&mut core.state.is_pack_full))
        })?;
        if is_pack_full {
            // The target can begin on it while the next is being filled.
            self.engine.poll();
        }
        if rest.is_none() {
            return Ok(());
        }
        self.post_when_possible(target, call, rest)
    }

    /// Queues the operation as soon as there is an element for it.
    #[cold]
    fn post_when_possible(
        &self,
        target: Rank,
        call: &'static str,
        mut rest: Option<Operation>,
    ) -> Result<()> {
        let describe = |_: &_| {
            let window = self.engine.observation().describe_window(self.shared.id);
            format!("earlier operations to end, to make room for one on rank {target} ({window})").into()
        };
        self.engine.wait(call, &describe, &mut |core| {
            let Core { channel, state, windows, .. } = core;
            let Some(mut context) = windows.borrow(state, self.shared.id) else { return Err(gone(call)) };
            let (state, window) = context.split();
            // Only what this attempt gave the engine to do keeps the caller from sleeping.
            let needed_issue = std::mem::replace(&mut window.needs_issue, false);
            let posted = window
                .check_open(call)
                .and_then(|()| post(state, window, &**channel, target, &mut rest, call));
            state.needs_step |= window.needs_issue;
            window.needs_issue |= needed_issue;
            posted?;
            Ok(rest.is_none().then_some(()))
        })
    }

    /// Queues the operation; hands it back when no element is to be had.
    pub(crate) fn try_post(
        &self,
        target: Rank,
        call: &'static str,
        op: Operation,
    ) -> Result<Option<Operation>> {
        let mut waiting = Some(op);
        self.engine.with(|core| self.post_once(core, target, call, &mut waiting))?;
        Ok(waiting)
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Window {} (rank {} of {})", self.id(), self.rank(), self.size())
    }
}

#[inline]
fn check_element(call: &'static str, size: usize, lens: &[usize]) -> Result<()> {
    if size > OPERAND_BYTES {
        return Err(long_element(call, size));
    }
    if lens.iter().all(|len| *len == size) { Ok(()) } else { Err(bad_element(call, size, lens)) }
}

#[cold]
fn long_element(call: &'static str, size: usize) -> Error {
    let cause = format!("an element of {size} bytes, but calls of one element take {OPERAND_BYTES} at most");
    Error::new(ErrorClass::Type, call, cause)
}

#[cold]
fn bad_element(call: &'static str, size: usize, lens: &[usize]) -> Error {
    Error::new(
        ErrorClass::Count,
        call,
        format!("buffers of {lens:?} bytes, but one element of {size} is needed in each"),
    )
}

#[cold]
pub(super) fn returns_values(op: ReduceOp) -> Error {
    let cause = format!("{op} returns the target's value, and accumulate returns nothing");
    Error::new(ErrorClass::Op, "accumulate", cause)
}

#[cold]
fn bad_accumulate(len: usize, kernel: Kernel) -> Error {
    if !kernel.op().is_accumulate() {
        return returns_values(kernel.op());
    }
    let cause =
        format!("{len} bytes are not whole elements of {} ({} bytes)", kernel.ty(), kernel.ty().size());
    Error::new(ErrorClass::Count, "accumulate", cause)
}
