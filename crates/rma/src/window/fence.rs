//! Fence epochs: all ranks of the window open and close them together (MPI 3.1 §11.5.1).

use super::epoch::Epoch;
use super::operations::Parts;
use super::scope;
use super::typed::Window;
use super::view::View;
use crate::elements::Element;
use rma_core::epoch::Assert;
use rma_core::{Error, Result};
use std::fmt;
use std::marker::PhantomData;

/// The epoch between two fences.
#[derive(Debug)]
pub enum Fence {}

/// The handle of a fence epoch: every rank can be reached.
pub type FenceEpoch<'scope, T> = Epoch<'scope, T, Fence>;

/// A chain of fence epochs, with one fence between each and the next. Made by [`Window::fence_epochs`].
pub struct FenceEpochs<'scope, T, E> {
    parts: &'scope Parts<T>,
    error: PhantomData<fn() -> E>,
}

impl<T: Element, E: From<Error>> Window<'_, T, E> {
    /// Runs `body` between two fences. Collective: every rank of the window calls it. When it returns, the operations of
    /// all ranks are complete.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<i32>(2)?;
    ///     let (rank, size) = (world.rank(), world.size());
    ///     let mine = [rank as i32];
    ///     // To both neighbours: from the left into element 0, from the right into element 1.
    ///     window.fence_epoch(|epoch| {
    ///         epoch.put(&mine, (rank + 1) % size, 0)?;
    ///         epoch.put(&mine, (rank + size - 1) % size, 1)
    ///     })?;
    ///     let halo = window.local().to_vec();
    ///     assert_eq!(halo, [(rank + 3) % 4, (rank + 1) % 4].map(|rank| rank as i32));
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The closure's error, or the closing fence's; see [`rma_core::window::Window::fence`].
    pub fn fence_epoch<'scope, R>(
        &'scope mut self,
        body: impl FnOnce(&FenceEpoch<'scope, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        let parts = self.opened("fence")?;
        parts.core.call(|window| window.fence(Assert::NO_PRECEDE))?;
        between_fences(parts, body, Assert::NO_SUCCEED)
    }

    /// Runs `body`, which opens fence epochs one behind the other: there is one fence between two of them, which closes the one and
    /// opens the other. Collective, and all ranks run as many epochs.
    ///
    /// Between two epochs all operations are complete and the memory may be read; but other ranks may have begun the next
    /// epoch. So what they store in it must lie elsewhere than what is read.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(2)?;
    ///     let right = (world.rank() + 1) % world.size();
    ///     let mut sum = u64::from(world.rank());
    ///     // Two elements, used in turn: the neighbour may be one step ahead.
    ///     window.fence_epochs(|fences| {
    ///         for step in 0..4 {
    ///             fences.epoch(|epoch| epoch.put_value(sum, right, step % 2))?;
    ///             sum += fences.local().get(step % 2);
    ///         }
    ///         Ok(())
    ///     })?;
    ///     // 1 4 6 4 times the ranks behind, and once one's own and the one that is four behind.
    ///     let behind = |steps: u64| (u64::from(world.rank()) + 4 - steps) % 4;
    ///     assert_eq!(sum, 2 * behind(0) + 4 * behind(1) + 6 * behind(2) + 4 * behind(3));
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The closure's error, or the first fence's.
    pub fn fence_epochs<'scope, R>(
        &'scope mut self,
        body: impl FnOnce(&mut FenceEpochs<'scope, T, E>) -> Result<R, E>,
    ) -> Result<R, E> {
        let parts = self.opened("fence")?;
        parts.core.call(|window| window.fence(Assert::NO_PRECEDE))?;
        // The last fence leaves an epoch without operations, which any other call may replace: there is nothing to close.
        body(&mut FenceEpochs { parts, error: PhantomData })
    }
}

impl<T: Element, E: From<Error>> FenceEpochs<'_, T, E> {
    /// Runs `body` in the epoch that is open, then the fence that closes it and opens the next. Collective.
    ///
    /// # Errors
    /// The closure's error, or the fence's.
    pub fn epoch<'inner, R>(
        &'inner mut self,
        body: impl FnOnce(&FenceEpoch<'inner, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        between_fences(self.parts, body, Assert::NONE)
    }

    /// This rank's own memory.
    pub fn local(&self) -> View<'_, T> {
        View::own(self.parts.core.plain())
    }
}

fn between_fences<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope Parts<T>,
    body: impl FnOnce(&FenceEpoch<'scope, T>) -> Result<R, E>,
    assert: Assert,
) -> Result<R, E> {
    let epoch = Epoch::active(parts);
    scope::epoch(parts, || body(&epoch), || parts.core.call(|window| window.fence(assert)))
}

impl<T, E> fmt::Debug for FenceEpochs<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FenceEpochs on {:?}", self.parts.core)
    }
}
