//! What all handles of epochs do: the calls on a window for the time of a scope.
//!
//! Generic over nothing but the element. Buffers are borrowed for `'scope`, which outlives the closure's body: the scope completes
//! their operations before it ends.

use super::core::Core;
use super::dynamic::Attached;
use super::rank::IntoRank;
use super::values::ScopeValues;
use crate::elements::{Element, Integer, Number, bytes_of, read_span, write_span};
use crate::wakers::Wakers;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, Kernel, ReduceOp};
use rma_core::mem::ReadSpan;
use rma_core::notify;
use rma_core::window::{DirectPath, Window, WordStep};
use rma_core::{Error, ErrorClass, Result};
use std::marker::PhantomData;
use std::sync::Arc;

/// What a typed window is made of, as scopes borrow it.
#[derive(Debug)]
pub(super) struct WindowParts<T> {
    pub(super) core: Core,
    /// Values that operations of the scope read from.
    pub(super) values: ScopeValues<T>,
    pub(super) wakers: Arc<Wakers>,
    /// What is attached to a dynamic window.
    pub(super) attached: Attached<T>,
}

impl<T> WindowParts<T> {
    /// The rank that a call names.
    #[inline]
    pub(super) fn rank(&self, rank: impl IntoRank, call: &'static str) -> Result<Rank> {
        self.core.call(|_| rank.into_rank(call))
    }
}

/// Access to the memory of other ranks, for as long as `'scope`.
///
/// Displacements and lengths are in elements. The handle may be shared by threads.
pub(super) struct Access<'scope, T> {
    parts: &'scope WindowParts<T>,
    /// What each call tries first.
    path: DirectPath<'scope>,
    /// Whether the epoch can be flushed.
    is_passive: bool,
    /// Invariant, so that no caller can shorten the time for which buffers are borrowed.
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<'scope, T> Access<'scope, T> {
    pub(super) fn active(parts: &'scope WindowParts<T>) -> Self {
        Self { parts, path: parts.core.plain().direct_path(), is_passive: false, scope: PhantomData }
    }

    pub(super) fn passive(parts: &'scope WindowParts<T>) -> Self {
        Self { is_passive: true, ..Self::active(parts) }
    }

    /// For a scope within this one.
    #[inline]
    pub(super) fn inner<'inner>(&'inner self) -> Access<'inner, T> {
        Access { parts: self.parts, path: self.path, is_passive: self.is_passive, scope: PhantomData }
    }

    /// Another handle of this scope.
    #[inline]
    pub(super) fn again(&self) -> Self {
        Self { parts: self.parts, path: self.path, is_passive: self.is_passive, scope: PhantomData }
    }

    pub(super) fn parts(&self) -> &'scope WindowParts<T> {
        self.parts
    }

    /// Completes what was begun on `target` (`MPI_Win_flush`).
    #[inline]
    pub(super) fn flush(&self, target: Rank) -> Result<()> {
        if self.path.try_flush(target) { Ok(()) } else { self.call(|window| window.flush(target)) }
    }

    /// The window, for what cannot fail.
    #[inline]
    pub(super) fn plain(&self) -> &'scope Window {
        self.parts.core.plain()
    }

    /// Calls what can fail ([`Core::call`]).
    #[inline]
    pub(super) fn call<R>(&self, call: impl FnOnce(&'scope Window) -> Result<R>) -> Result<R> {
        self.parts.core.call(call)
    }

    /// The rank that a call names.
    #[inline]
    pub(super) fn rank(&self, rank: impl IntoRank, call: &'static str) -> Result<Rank> {
        self.parts.rank(rank, call)
    }

    /// Has `operation` read a value that is kept for it.
    pub(super) fn keep(&self, value: T, operation: impl FnOnce(ReadSpan) -> Result<()>) -> Result<()> {
        let complete = self.is_passive.then_some(|| self.call(Window::flush_local_all));
        self.parts.values.keep(value, complete, operation)
    }
}

impl<'scope, T: Element> Access<'scope, T> {
    #[inline]
    pub(super) fn put(&self, origin: &'scope [T], target: Rank, disp: usize) -> Result<()> {
        // SAFETY: the buffer is borrowed for the scope, which completes its operations before it ends.
        let origin = unsafe { read_span(origin) };
        let disp = Disp(disp as u64);
        if self.path.try_put(origin, target, disp) {
            Ok(())
        } else {
            self.call(|window| window.put(origin, target, disp))
        }
    }

    #[inline]
    pub(super) fn put_value(&self, value: T, target: Rank, disp: usize) -> Result<()> {
        let disp = Disp(disp as u64);
        // SAFETY: what is done now reads the value now.
        let now = unsafe { read_span(std::slice::from_ref(&value)) };
        if self.path.try_put(now, target, disp) {
            return Ok(());
        }
        self.keep(value, |origin| self.call(|window| window.put(origin, target, disp)))
    }

    /// Stores and raises a counter of the target, where that is a copy and a step on the counter; says whether it has been done.
    #[inline]
    pub(super) fn try_put_notify(&self, origin: ReadSpan, target: Rank, disp: Disp, counter: u32) -> bool {
        let done = self.path.try_put_notify(origin, target, disp, counter);
        if done == Some(true) {
            notify::wake(self.plain(), "put_notify", target);
        }
        done.is_some()
    }

    #[inline]
    pub(super) fn get(&self, result: &'scope mut [T], target: Rank, disp: usize) -> Result<()> {
        // SAFETY: as for `put`; the borrow is exclusive.
        let result = unsafe { write_span(result) };
        let disp = Disp(disp as u64);
        if self.path.try_get(result, target, disp) {
            Ok(())
        } else {
            self.call(|window| window.get(result, target, disp))
        }
    }

    /// Loads or stores one element and completes that, where it is nothing but a copy; says whether it has been done.
    #[inline]
    pub(super) fn try_load(&self, value: &mut T, target: Rank, disp: usize) -> bool {
        // SAFETY: what is done now is done with the borrow.
        let result = unsafe { write_span(std::slice::from_mut(value)) };
        self.path.try_get(result, target, Disp(disp as u64))
    }

    /// As [`Access::try_load`].
    #[inline]
    pub(super) fn try_store(&self, value: T, target: Rank, disp: usize) -> bool {
        // SAFETY: as there.
        let origin = unsafe { read_span(std::slice::from_ref(&value)) };
        self.path.try_put(origin, target, Disp(disp as u64))
    }
}

impl<'scope, T: Number> Access<'scope, T> {
    #[inline]
    pub(super) fn accumulate(
        &self,
        origin: &'scope [T],
        op: ReduceOp,
        target: Rank,
        disp: usize,
    ) -> Result<()> {
        let kernel = self.call(|_| kernel::<T>("accumulate", op))?;
        // SAFETY: as for `put`.
        let origin = unsafe { read_span(origin) };
        self.call(|window| window.accumulate(origin, kernel, target, Disp(disp as u64)))
    }

    pub(super) fn accumulate_value(&self, value: T, op: ReduceOp, target: Rank, disp: usize) -> Result<()> {
        // SAFETY: as for `put_value`.
        let now = unsafe { read_span(std::slice::from_ref(&value)) };
        let (step, now) = (WordStep::accumulate(op, T::BASIC), |len| (len == now.len()).then_some(now));
        if self.path.try_accumulate(now, step, op, target, Disp(disp as u64)) {
            return Ok(());
        }
        let kernel = self.call(|_| kernel::<T>("accumulate", op))?;
        let accumulate =
            |origin| self.call(|window| window.accumulate(origin, kernel, target, Disp(disp as u64)));
        self.keep(value, accumulate)
    }

    pub(super) fn get_accumulate(
        &self,
        origin: &'scope [T],
        result: &'scope mut [T],
        op: ReduceOp,
        target: Rank,
        disp: usize,
    ) -> Result<()> {
        self.call(|window| {
            let kernel = kernel::<T>("get_accumulate", op)?;
            if origin.len() != result.len() {
                let cause = format!("{} elements to combine and room for {}", origin.len(), result.len());
                return Err(Error::new(ErrorClass::Count, "get_accumulate", cause));
            }
            // SAFETY: as for `put` and `get`; a shared borrow and an exclusive one do not overlap.
            let (origin, result) = unsafe { (read_span(origin), write_span(result)) };
            window.get_accumulate_elements(origin, result, kernel, target, Disp(disp as u64))
        })
    }

    pub(super) fn fetch(&self, result: &'scope mut [T], target: Rank, disp: usize) -> Result<()> {
        // SAFETY: as for `get`. A no-op reads no origin.
        let result = unsafe { write_span(result) };
        self.call(|window| {
            let kernel = kernel::<T>("get_accumulate", ReduceOp::NoOp)?;
            window.get_accumulate_elements(result.as_read(), result, kernel, target, Disp(disp as u64))
        })
    }

    #[inline]
    pub(super) fn fetch_op_into(
        &self,
        operand: T,
        result: &'scope mut T,
        op: ReduceOp,
        target: Rank,
        disp: usize,
    ) -> Result<()> {
        if self.try_fetch_op(operand, result, op, target, disp) {
            return Ok(());
        }
        // SAFETY: as for `get`.
        let result = unsafe { write_span(std::slice::from_mut(result)) };
        self.call(|window| {
            let kernel = kernel::<T>("fetch_and_op", op)?;
            window.fetch_and_op(bytes_of(&operand), result, kernel, target, Disp(disp as u64))
        })
    }

    /// The same, where it is one atomic instruction, or a loop around one; says whether it has been done.
    #[inline]
    pub(super) fn try_fetch_op(
        &self,
        operand: T,
        result: &mut T,
        op: ReduceOp,
        target: Rank,
        disp: usize,
    ) -> bool {
        // SAFETY: as for `put_value` and `try_load`.
        let buffers =
            unsafe { (read_span(std::slice::from_ref(&operand)), write_span(std::slice::from_mut(result))) };
        let buffers = |len| (len == size_of::<T>()).then_some(buffers);
        self.path.try_fetch_and_op(buffers, WordStep::fetch(op, T::BASIC), target, Disp(disp as u64))
    }
}

impl<'scope, T: Integer> Access<'scope, T> {
    #[inline]
    pub(super) fn compare_and_swap_into(
        &self,
        compare: T,
        swap: T,
        result: &'scope mut T,
        target: Rank,
        disp: usize,
    ) -> Result<()> {
        if self.try_compare_and_swap(compare, swap, result, target, disp) {
            return Ok(());
        }
        // SAFETY: as for `get`.
        let result = unsafe { write_span(std::slice::from_mut(result)) };
        let (swap, compare, disp) = (bytes_of(&swap), bytes_of(&compare), Disp(disp as u64));
        self.call(|window| {
            let kernel = CompareAndSwap::new(T::BASIC).ok_or_else(|| {
                let cause = format!("compare-and-swap is not defined on {}", T::BASIC);
                Error::new(ErrorClass::Type, "compare_and_swap", cause)
            })?;
            window.compare_and_swap(swap, compare, result, kernel, target, disp)
        })
    }

    /// The same, where it is one atomic instruction; says whether it has been done.
    #[inline]
    pub(super) fn try_compare_and_swap(
        &self,
        compare: T,
        swap: T,
        result: &mut T,
        target: Rank,
        disp: usize,
    ) -> bool {
        let Some(kernel) = CompareAndSwap::new(T::BASIC) else { return false };
        // SAFETY: as for `put_value` and `try_load`.
        let [new, old] = [&swap, &compare].map(|value| unsafe { read_span(std::slice::from_ref(value)) });
        // SAFETY: as there.
        let result = unsafe { write_span(std::slice::from_mut(result)) };
        self.path.try_compare_and_swap(new, old, result, kernel, target, Disp(disp as u64))
    }
}

#[inline]
fn kernel<T: Number>(call: &'static str, op: ReduceOp) -> Result<Kernel> {
    Kernel::new(op, T::BASIC)
        .ok_or_else(|| Error::new(ErrorClass::Op, call, format!("{op} is not defined on {}", T::BASIC)))
}
