//! Fence epochs: all ranks of the window open and close them together (MPI 3.1 §11.5.1).

use super::element::{Element, Integer, Number};
use super::operations::Access;
use super::scope;
use super::typed::Window;
use super::view::View;
use rma_core::Result;
use rma_core::epoch::Assert;
use rma_core::kernel::ReduceOp;
use std::fmt;

/// The handle of a fence epoch: every rank can be reached.
pub struct FenceEpoch<'scope, T> {
    access: Access<'scope, T>,
}

impl<T: Element> Window<'_, T> {
    /// Runs `body` between two fences. Collective: every rank of the window calls it. When it returns, the operations of
    /// all ranks are complete.
    ///
    /// # Errors
    /// The closure's error, or the closing fence's; see [`rma_core::window::Window::fence`].
    pub fn fence_epoch<'scope, R>(
        &'scope mut self,
        body: impl FnOnce(&FenceEpoch<'scope, T>) -> Result<R>,
    ) -> Result<R> {
        let window = self.core();
        window.fence(Assert::NO_PRECEDE)?;
        let epoch = FenceEpoch { access: Access::new(window) };
        let close = || window.fence(Assert::NO_SUCCEED);
        scope::run(window, || body(&epoch), close, || window.outstanding() == 0)
    }
}

impl<'scope, T: Element> FenceEpoch<'scope, T> {
    /// Stores `origin` at displacement `disp` of rank `target`.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::put`].
    pub fn put(&self, origin: &'scope [T], target: u32, disp: usize) -> Result<()> {
        self.access.put(origin, target, disp)
    }

    /// Fills `result` from displacement `disp` of rank `target`.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::get`].
    pub fn get(&self, result: &'scope mut [T], target: u32, disp: usize) -> Result<()> {
        self.access.get(result, target, disp)
    }

    /// This rank's own memory. What others put there is complete only after the epoch.
    pub fn local(&self) -> View<'_, T> {
        View::own(self.access.window())
    }
}

impl<'scope, T: Number> FenceEpoch<'scope, T> {
    /// Combines `origin` with the elements from displacement `disp` of rank `target` on, each in one atomic step.
    ///
    /// # Errors
    /// `MPI_ERR_OP` when `op` is not defined on `T`; see [`rma_core::window::Window::accumulate`].
    pub fn accumulate(&self, origin: &'scope [T], op: ReduceOp, target: u32, disp: usize) -> Result<()> {
        self.access.accumulate(origin, op, target, disp)
    }

    /// Combines one element with `operand`, and stores what it was before in `result`, in one atomic step.
    ///
    /// # Errors
    /// `MPI_ERR_OP` when `op` is not defined on `T`; see [`rma_core::window::Window::fetch_and_op`].
    pub fn fetch_op(
        &self,
        operand: T,
        result: &'scope mut T,
        op: ReduceOp,
        target: u32,
        disp: usize,
    ) -> Result<()> {
        self.access.fetch_op_into(operand, result, op, target, disp)
    }
}

impl<'scope, T: Integer> FenceEpoch<'scope, T> {
    /// Replaces one element by `swap` if it equals `compare`, and stores what it was before in `result`, in one atomic step.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::compare_and_swap`].
    pub fn compare_and_swap(
        &self,
        compare: T,
        swap: T,
        result: &'scope mut T,
        target: u32,
        disp: usize,
    ) -> Result<()> {
        self.access.compare_and_swap_into(compare, swap, result, target, disp)
    }
}

impl<T> fmt::Debug for FenceEpoch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FenceEpoch")
    }
}
