//! Fence epochs: all ranks of the window open and close them together (MPI 3.1 §11.5.1).

use super::epoch::Epoch;
use super::operations::WindowParts;
use super::scope;
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

/// A chain of fence epochs, with one fence between each and the next. Made by [`Window::fence_epochs`](super::Window::fence_epochs).
pub struct FenceEpochs<'scope, T, E> {
    parts: &'scope WindowParts<T>,
    error: PhantomData<fn() -> E>,
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

/// Runs `body` between two fences.
pub(super) fn with_fences<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope WindowParts<T>,
    body: impl FnOnce(&FenceEpoch<'scope, T>) -> Result<R, E>,
) -> Result<R, E> {
    parts.core.call(|window| window.fence(Assert::NO_PRECEDE))?;
    between_fences(parts, body, Assert::NO_SUCCEED)
}

/// Runs `body`, which opens epochs one behind the other.
pub(super) fn with_chain<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope WindowParts<T>,
    body: impl FnOnce(&mut FenceEpochs<'scope, T, E>) -> Result<R, E>,
) -> Result<R, E> {
    parts.core.call(|window| window.fence(Assert::NO_PRECEDE))?;
    // The last fence leaves an epoch without operations, which any other call may replace: there is nothing to close.
    body(&mut FenceEpochs { parts, error: PhantomData })
}

fn between_fences<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope WindowParts<T>,
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
