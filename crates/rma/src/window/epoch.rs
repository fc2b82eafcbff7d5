//! Handles of epochs in which more than one rank may be reached.

use super::operations::{Access, WindowParts};
use super::rank::IntoRank;
use super::view::View;
use crate::elements::{Element, Integer, Number};
use rma_core::Result;
use rma_core::kernel::ReduceOp;
use std::fmt;
use std::marker::PhantomData;

/// The handle of an epoch: the operations that can be made in it, on ranks that each call names.
///
/// `K` is the kind of epoch: [`FenceEpoch`](super::FenceEpoch), [`AccessEpoch`](super::AccessEpoch), [`LockAll`](super::LockAll) and
/// [`BatchOfAll`](super::BatchOfAll) are such handles. Displacements and lengths are in elements. Any number of threads may use one
/// handle at a time.
///
/// Buffers are borrowed until the call that has opened the epoch returns, when all its operations are complete.
pub struct Epoch<'scope, T, K> {
    pub(super) access: Access<'scope, T>,
    kind: PhantomData<fn() -> K>,
}

impl<'scope, T, K> Epoch<'scope, T, K> {
    pub(super) fn active(parts: &'scope WindowParts<T>) -> Self {
        Self { access: Access::active(parts), kind: PhantomData }
    }

    pub(super) fn passive(parts: &'scope WindowParts<T>) -> Self {
        Self { access: Access::passive(parts), kind: PhantomData }
    }

    /// A scope within one that has access.
    pub(super) fn within(access: &'scope Access<'_, T>) -> Self {
        Self { access: access.inner(), kind: PhantomData }
    }
}

impl<'scope, T: Element, K> Epoch<'scope, T, K> {
    /// Stores `origin` at displacement `disp` of rank `target` (`MPI_Put`).
    ///
    /// # Errors
    /// See [`rma_core::window::Window::put`].
    #[inline]
    pub fn put(&self, origin: &'scope [T], target: impl IntoRank, disp: usize) -> Result<()> {
        self.access.put(origin, self.access.rank(target, "put")?, disp)
    }

    /// As [`Epoch::put`], for one element that needs no buffer.
    ///
    /// # Errors
    /// As [`Epoch::put`].
    #[inline]
    pub fn put_value(&self, value: T, target: impl IntoRank, disp: usize) -> Result<()> {
        self.access.put_value(value, self.access.rank(target, "put")?, disp)
    }

    /// Fills `result` from displacement `disp` of rank `target` (`MPI_Get`).
    ///
    /// # Errors
    /// See [`rma_core::window::Window::get`].
    #[inline]
    pub fn get(&self, result: &'scope mut [T], target: impl IntoRank, disp: usize) -> Result<()> {
        self.access.get(result, self.access.rank(target, "get")?, disp)
    }

    /// This rank's own memory. What others store there is complete only after the epoch.
    pub fn local(&self) -> View<'_, T> {
        View::own(self.access.plain())
    }
}

impl<'scope, T: Number, K> Epoch<'scope, T, K> {
    /// Combines `origin` with the elements from displacement `disp` of rank `target` on, each in one atomic step
    /// (`MPI_Accumulate`).
    ///
    /// ```
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<u64>(2)?;
    ///     let mine = [1, u64::from(world.rank())];
    ///     window.fence_epoch(|epoch| epoch.accumulate(&mine, rma::ReduceOp::Sum, 0, 0))?;
    ///     if world.rank() == 0 {
    ///         assert_eq!(window.local().to_vec(), [8, 28]);
    ///     }
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// `MPI_ERR_OP` when `op` is not defined on `T`; see [`rma_core::window::Window::accumulate`].
    #[inline]
    pub fn accumulate(
        &self,
        origin: &'scope [T],
        op: ReduceOp,
        target: impl IntoRank,
        disp: usize,
    ) -> Result<()> {
        self.access.accumulate(origin, op, self.access.rank(target, "accumulate")?, disp)
    }

    /// As [`Epoch::accumulate`], for one element that needs no buffer.
    ///
    /// # Errors
    /// As [`Epoch::accumulate`].
    pub fn accumulate_value(&self, value: T, op: ReduceOp, target: impl IntoRank, disp: usize) -> Result<()> {
        self.access.accumulate_value(value, op, self.access.rank(target, "accumulate")?, disp)
    }

    /// As [`Epoch::accumulate`], and fills `result`, which is as long as `origin`, with what the elements were before
    /// (`MPI_Get_accumulate`).
    ///
    /// ```
    /// use rma::ReduceOp;
    ///
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(2)?;
    ///     let mine = [1 << world.rank(), 1];
    ///     let mut before = [0; 2];
    ///     window.fence_epoch(|epoch| epoch.get_accumulate(&mine, &mut before, ReduceOp::Sum, 0, 0))?;
    ///     // Each element tells by itself which ranks were faster: another rank may have come between the two.
    ///     assert!(before[0] & mine[0] == 0 && before[0] < 16 && before[1] < 4);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Epoch::accumulate`]; `MPI_ERR_COUNT` when the lengths differ.
    pub fn get_accumulate(
        &self,
        origin: &'scope [T],
        result: &'scope mut [T],
        op: ReduceOp,
        target: impl IntoRank,
        disp: usize,
    ) -> Result<()> {
        self.access.get_accumulate(origin, result, op, self.access.rank(target, "get_accumulate")?, disp)
    }

    /// Fills `result` from displacement `disp` of rank `target`, each element in one atomic step that changes nothing
    /// (`MPI_Get_accumulate` with `MPI_NO_OP`): unlike [`Epoch::get`], it may meet accumulates of others.
    ///
    /// ```
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     let mut seen = [0];
    ///     window.lock_all(|all| {
    ///         all.accumulate_value(1, rma::ReduceOp::Sum, 0, 0)?;
    ///         // Others add meanwhile.
    ///         all.fetch(&mut seen, 0, 0)
    ///     })?;
    ///     assert!((1..=8).contains(&seen[0]));
    ///     world.barrier()?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Epoch::get`].
    pub fn fetch(&self, result: &'scope mut [T], target: impl IntoRank, disp: usize) -> Result<()> {
        self.access.fetch(result, self.access.rank(target, "get_accumulate")?, disp)
    }

    /// Combines one element with `operand`, and stores what it was before in `result`, in one atomic step
    /// (`MPI_Fetch_and_op`). With [`ReduceOp::NoOp`] it reads, with [`ReduceOp::Replace`] it swaps.
    ///
    /// ```
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<u32>(1)?;
    ///     let mut ticket = 0;
    ///     window.fence_epoch(|epoch| epoch.fetch_op(1, &mut ticket, rma::ReduceOp::Sum, 0, 0))?;
    ///     let mut tickets = world.allgather(&[ticket])?.concat();
    ///     tickets.sort_unstable();
    ///     assert_eq!(tickets, [0, 1, 2, 3, 4, 5, 6, 7]);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// `MPI_ERR_OP` when `op` is not defined on `T`; see [`rma_core::window::Window::fetch_and_op`].
    #[inline]
    pub fn fetch_op(
        &self,
        operand: T,
        result: &'scope mut T,
        op: ReduceOp,
        target: impl IntoRank,
        disp: usize,
    ) -> Result<()> {
        self.access.fetch_op_into(operand, result, op, self.access.rank(target, "fetch_and_op")?, disp)
    }
}

impl<'scope, T: Integer, K> Epoch<'scope, T, K> {
    /// Replaces one element by `swap` if it equals `compare`, and stores what it was before in `result`, in one atomic step
    /// (`MPI_Compare_and_swap`).
    ///
    /// ```
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<u32>(1)?;
    ///     let (me, mut before) = (world.rank() + 1, 0);
    ///     window.fence_epoch(|epoch| epoch.compare_and_swap(0, me, &mut before, 0, 0))?;
    ///     // One rank has found zero there, and the others found that one.
    ///     let owner = if before == 0 { me } else { before };
    ///     assert_eq!(world.allgather(&[owner])?, vec![[owner]; 8]);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`rma_core::window::Window::compare_and_swap`].
    #[inline]
    pub fn compare_and_swap(
        &self,
        compare: T,
        swap: T,
        result: &'scope mut T,
        target: impl IntoRank,
        disp: usize,
    ) -> Result<()> {
        let target = self.access.rank(target, "compare_and_swap")?;
        self.access.compare_and_swap_into(compare, swap, result, target, disp)
    }
}

impl<T, K> fmt::Debug for Epoch<'_, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = std::any::type_name::<K>().rsplit("::").next().unwrap_or_default();
        write!(f, "Epoch of {kind} on {:?}", self.access.plain())
    }
}
