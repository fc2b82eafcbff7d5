//! Epochs in which every rank is locked, shared (MPI 3.1 §11.5.3).

use super::epoch::Epoch;
use super::lock::Locked;
use super::operations::WindowParts;
use super::rank::IntoRank;
use super::scope;
use super::target::Batched;
use super::view::View;
use crate::elements::Element;
use rma_core::epoch::Assert;
use rma_core::window;
use rma_core::{Error, Result};
use std::marker::PhantomData;
use std::ops::Deref;

/// The epoch of a lock of all ranks.
#[derive(Debug)]
pub enum AllLocked {}

/// The handle of a lock_all epoch: every rank can be reached, and its operations completed one by one.
pub type LockAll<'scope, T> = Epoch<'scope, T, AllLocked>;

/// Operations to any rank whose buffers are free again when the batch ends. Made by [`LockAll::batch`](Epoch::batch).
pub type BatchOfAll<'scope, T> = Epoch<'scope, T, Batched>;

/// One of the ranks that are all locked: behaves as its [`Locked`], and stays in the closure of the epoch.
#[derive(Debug)]
pub struct OneOfAll<'epoch, 'scope, T> {
    locked: Locked<'scope, T>,
    epoch: PhantomData<&'epoch ()>,
}

impl<'scope, T> Deref for OneOfAll<'_, 'scope, T> {
    type Target = Locked<'scope, T>;

    fn deref(&self) -> &Locked<'scope, T> {
        &self.locked
    }
}

/// Runs `body` while all locks are held.
pub(super) fn with_all<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope WindowParts<T>,
    assert: Assert,
    body: impl FnOnce(&LockAll<'scope, T>) -> Result<R, E>,
) -> Result<R, E> {
    parts.core.call(|window| window.lock_all(assert))?;
    let epoch = Epoch::passive(parts);
    scope::epoch(parts, || body(&epoch), || parts.core.call(window::Window::unlock_all))
}

impl<'scope, T: Element> Epoch<'scope, T, AllLocked> {
    /// The handle of one rank, with calls that wait for their operation.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` when the number can be no rank.
    pub fn rank(&self, rank: impl IntoRank) -> Result<OneOfAll<'_, 'scope, T>> {
        let locked = Locked::new(self.access.again(), self.access.rank(rank, "lock")?);
        Ok(OneOfAll { locked, epoch: PhantomData })
    }

    /// Completes the operations on `target` so far, at the target (`MPI_Win_flush`). Their buffers stay borrowed; see
    /// [`Epoch::batch`].
    ///
    /// # Errors
    /// See [`rma_core::window::Window::flush`].
    #[inline]
    pub fn flush(&self, target: impl IntoRank) -> Result<()> {
        self.access.flush(self.access.rank(target, "flush")?)
    }

    /// Completes the operations on `target` so far, at this rank (`MPI_Win_flush_local`).
    ///
    /// # Errors
    /// As [`Epoch::flush`].
    #[inline]
    pub fn flush_local(&self, target: impl IntoRank) -> Result<()> {
        let target = self.access.rank(target, "flush_local")?;
        self.access.call(|window| window.flush_local(target))
    }

    /// Completes all operations so far, at their targets (`MPI_Win_flush_all`).
    ///
    /// ```
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<u32>(8)?;
    ///     let me = world.rank();
    ///     window.lock_all(|all| {
    ///         (0..8).try_for_each(|rank| all.put_value(me + 1, rank, me as usize))?;
    ///         // All have left; then all are there.
    ///         all.flush_local_all()?;
    ///         all.flush_all()?;
    ///         world.barrier()?;
    ///         all.sync()?;
    ///         assert_eq!(all.local().to_vec(), [1, 2, 3, 4, 5, 6, 7, 8]);
    ///         Ok(())
    ///     })?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`rma_core::window::Window::flush_all`].
    pub fn flush_all(&self) -> Result<()> {
        self.access.call(window::Window::flush_all)
    }

    /// Completes all operations so far, at this rank (`MPI_Win_flush_local_all`).
    ///
    /// # Errors
    /// As [`Epoch::flush_all`].
    pub fn flush_local_all(&self) -> Result<()> {
        self.access.call(window::Window::flush_local_all)
    }

    /// Orders this rank's own loads and stores before the call before those after it (`MPI_Win_sync`).
    ///
    /// # Errors
    /// See [`rma_core::window::Window::sync`].
    pub fn sync(&self) -> Result<()> {
        self.access.call(window::Window::sync)
    }

    /// Runs `body`, then completes its operations: buffers used in it are free afterwards, while the locks are still held.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.local().set(0, u64::from(world.rank()));
    ///     world.barrier()?;
    ///     let mut values = [0; 4];
    ///     window.lock_all(|all| {
    ///         all.batch(|batch| {
    ///             values.iter_mut().enumerate().try_for_each(|(rank, value)| {
    ///                 batch.get(std::slice::from_mut(value), rank, 0)
    ///             })
    ///         })?;
    ///         assert_eq!(values, [0, 1, 2, 3]);
    ///         Ok(())
    ///     })?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The closure's error, or the flush's.
    pub fn batch<'inner, R>(
        &'inner self,
        body: impl FnOnce(&BatchOfAll<'inner, T>) -> Result<R>,
    ) -> Result<R> {
        let core = &self.access.parts().core;
        let batch = Epoch::within(&self.access);
        scope::run(
            core,
            || body(&batch),
            || core.call(window::Window::flush_all),
            || are_flushed(core.plain()),
        )
    }

    /// The memory of `rank`, when it is mapped in this process.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` when the number can be no rank.
    pub fn mapped(&self, rank: impl IntoRank) -> Result<Option<View<'_, T>>> {
        Ok(View::mapped(self.access.plain(), self.access.rank(rank, "win_shared_query")?))
    }
}

/// Whether the operations that precede the call are complete, although a flush has failed: see `target.rs`.
fn are_flushed(window: &window::Window) -> bool {
    const ATTEMPTS: u32 = 8;
    (0..ATTEMPTS).any(|_| window.outstanding() == 0 || window.flush_all().is_ok())
}
