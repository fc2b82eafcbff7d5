//! The communication calls, shared by all kinds of epoch handles.
//!
//! Generic over nothing but the element: a handle is a window, the rank it may reach, and the scope's lifetime. Buffers are
//! borrowed for `'scope`, which outlives the closure's body.

use super::element::{Element, Integer, Number, bytes_of, read_span, write_span};
use super::scope;
use rma_core::epoch::LockKind;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, Kernel, ReduceOp};
use rma_core::window::Window;
use rma_core::{Error, ErrorClass, Result};
use std::fmt;
use std::marker::PhantomData;

/// Access to the memory of other ranks, for as long as `'scope`.
///
/// Displacements and lengths are in elements. The handle may be shared by threads.
pub(super) struct Access<'scope, T> {
    window: &'scope Window,
    element: PhantomData<T>,
    /// Invariant, so that no caller can shorten the time for which buffers are borrowed.
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<'scope, T: Element> Access<'scope, T> {
    pub(super) fn new(window: &'scope Window) -> Self {
        Self { window, element: PhantomData, scope: PhantomData }
    }

    pub(super) fn window(&self) -> &'scope Window {
        self.window
    }

    pub(super) fn put(&self, origin: &'scope [T], target: u32, disp: usize) -> Result<()> {
        // SAFETY: the buffer is borrowed for the scope, which completes its operations before it ends.
        let origin = unsafe { read_span(origin) };
        self.window.put(origin, Rank(target), Disp(disp as u64))
    }

    pub(super) fn get(&self, result: &'scope mut [T], target: u32, disp: usize) -> Result<()> {
        // SAFETY: as for `put`; the borrow is exclusive.
        let result = unsafe { write_span(result) };
        self.window.get(result, Rank(target), Disp(disp as u64))
    }
}

impl<'scope, T: Number> Access<'scope, T> {
    pub(super) fn accumulate(
        &self,
        origin: &'scope [T],
        op: ReduceOp,
        target: u32,
        disp: usize,
    ) -> Result<()> {
        let kernel = kernel::<T>("accumulate", op)?;
        // SAFETY: as for `put`.
        let origin = unsafe { read_span(origin) };
        self.window.accumulate(origin, kernel, Rank(target), Disp(disp as u64))
    }

    pub(super) fn fetch_op_into(
        &self,
        operand: T,
        result: &'scope mut T,
        op: ReduceOp,
        target: u32,
        disp: usize,
    ) -> Result<()> {
        let kernel = kernel::<T>("fetch_and_op", op)?;
        // SAFETY: as for `get`.
        let result = unsafe { write_span(std::slice::from_mut(result)) };
        self.window.fetch_and_op(bytes_of(&operand), result, kernel, Rank(target), Disp(disp as u64))
    }
}

impl<'scope, T: Integer> Access<'scope, T> {
    pub(super) fn compare_and_swap_into(
        &self,
        compare: T,
        swap: T,
        result: &'scope mut T,
        target: u32,
        disp: usize,
    ) -> Result<()> {
        let kernel = CompareAndSwap::new(T::BASIC).ok_or_else(|| {
            let cause = format!("compare-and-swap is not defined on {}", T::BASIC);
            Error::new(ErrorClass::Type, "compare_and_swap", cause)
        })?;
        // SAFETY: as for `get`.
        let result = unsafe { write_span(std::slice::from_mut(result)) };
        let (swap, compare) = (bytes_of(&swap), bytes_of(&compare));
        self.window.compare_and_swap(swap, compare, result, kernel, Rank(target), Disp(disp as u64))
    }
}

/// Operations to one locked rank whose buffers are free again when the batch ends.
///
/// Made by [`Locked::batch`](super::Locked::batch).
pub struct Batch<'scope, T> {
    access: Access<'scope, T>,
    target: u32,
}

impl<'scope, T: Element> Batch<'scope, T> {
    /// Stores `origin` at displacement `disp`.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::put`].
    pub fn put(&self, origin: &'scope [T], disp: usize) -> Result<()> {
        self.access.put(origin, self.target, disp)
    }

    /// Fills `result` from displacement `disp`.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::get`].
    pub fn get(&self, result: &'scope mut [T], disp: usize) -> Result<()> {
        self.access.get(result, self.target, disp)
    }
}

impl<'scope, T: Number> Batch<'scope, T> {
    /// Combines `origin` with the elements from displacement `disp` on, each in one atomic step.
    ///
    /// # Errors
    /// `MPI_ERR_OP` when `op` is not defined on `T`; see [`rma_core::window::Window::accumulate`].
    pub fn accumulate(&self, origin: &'scope [T], op: ReduceOp, disp: usize) -> Result<()> {
        self.access.accumulate(origin, op, self.target, disp)
    }

    /// Combines one element with `operand`, and stores what it was before in `result`, in one atomic step.
    ///
    /// # Errors
    /// `MPI_ERR_OP` when `op` is not defined on `T`; see [`rma_core::window::Window::fetch_and_op`].
    pub fn fetch_op(&self, operand: T, result: &'scope mut T, op: ReduceOp, disp: usize) -> Result<()> {
        self.access.fetch_op_into(operand, result, op, self.target, disp)
    }
}

impl<'scope, T: Integer> Batch<'scope, T> {
    /// Replaces one element by `swap` if it equals `compare`, and stores what it was before in `result`, in one atomic step.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::compare_and_swap`].
    pub fn compare_and_swap(&self, compare: T, swap: T, result: &'scope mut T, disp: usize) -> Result<()> {
        self.access.compare_and_swap_into(compare, swap, result, self.target, disp)
    }
}

impl<T> fmt::Debug for Batch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch to rank {}", self.target)
    }
}

/// Runs `body` on a batch, then flushes it.
pub(super) fn batch<'inner, T: Element, R>(
    window: &'inner Window,
    target: u32,
    body: impl FnOnce(&Batch<'inner, T>) -> Result<R>,
) -> Result<R> {
    let batch = Batch { access: Access::new(window), target };
    scope::run(window, || body(&batch), || window.flush(Rank(target)), || is_flushed(window, Rank(target)))
}

/// Whether the operations to `target` that precede the call are complete, although a flush of it has failed.
///
/// A flush raises what has gone wrong anywhere on the window, such as an operation of another thread to another rank. That
/// says nothing about the batch, and operations of others may be outstanding; a flush that succeeds does. Each attempt
/// takes one error away. Flushes of a lost rank never succeed, but nothing is outstanding there.
fn is_flushed(window: &Window, target: Rank) -> bool {
    const ATTEMPTS: u32 = 8;
    (0..ATTEMPTS).any(|_| window.outstanding_to(target) == 0 || window.flush(target).is_ok())
}

/// Opens a lock, runs `body`, closes it.
pub(super) fn with_locks<R>(
    window: &Window,
    locks: &[(u32, LockKind)],
    body: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let mut held = Vec::with_capacity(locks.len());
    let mut opened = Ok(());
    for (rank, kind) in locks {
        opened = window.lock(*kind, Rank(*rank), rma_core::epoch::Assert::NONE);
        if opened.is_err() {
            break;
        }
        held.push(*rank);
    }
    let close = || {
        // Every lock is released, also behind one that fails; the first error is the result.
        let mut closed = Ok(());
        for rank in &held {
            let unlocked = window.unlock(Rank(*rank));
            closed = closed.and(unlocked);
        }
        closed
    };
    scope::run(window, || opened.and_then(|()| body()), close, || window.outstanding() == 0)
}

fn kernel<T: Number>(call: &'static str, op: ReduceOp) -> Result<Kernel> {
    Kernel::new(op, T::BASIC)
        .ok_or_else(|| Error::new(ErrorClass::Op, call, format!("{op} is not defined on {}", T::BASIC)))
}
