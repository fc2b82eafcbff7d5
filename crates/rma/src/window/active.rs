//! Epochs of groups: origins and targets name each other (MPI 3.1 §11.5.2).
//!
//! A rank exposes its memory to the origins that it names, and they access the memory of the targets that they name. Opening an
//! access epoch waits only for targets whose memory is mapped; opening an exposure never waits.

use super::epoch::Epoch;
use super::operations::WindowParts;
use super::rank::{IntoRank, group};
use super::scope;
use super::view::View;
use crate::elements::Element;
use rma_core::epoch::Assert;
use rma_core::window;
use rma_core::{Error, Result};
use std::fmt;
use std::marker::PhantomData;

/// The epoch between start and complete.
#[derive(Debug)]
pub enum Started {}

/// The handle of an access epoch: the ranks that it was opened to can be reached.
pub type AccessEpoch<'scope, T> = Epoch<'scope, T, Started>;

/// This rank's memory while it is exposed to the origins that it has named. Made by [`Window::expose`](super::Window::expose).
pub struct Exposure<'scope, T, E> {
    parts: &'scope WindowParts<T>,
    is_over: bool,
    /// Of the epochs within: where one side need not be checked, the other is not.
    assert: Assert,
    error: PhantomData<fn() -> E>,
}

impl<T: Element, E: From<Error>> Exposure<'_, T, E> {
    /// As [`Window::access`](super::Window::access), while this rank's own memory is exposed.
    ///
    /// # Errors
    /// As [`Window::access`](super::Window::access).
    pub fn access<'inner, R>(
        &'inner mut self,
        targets: &[impl IntoRank],
        body: impl FnOnce(&AccessEpoch<'inner, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        access(self.parts, targets, self.assert, body)
    }

    /// Whether the origins have all ended their epochs (`MPI_Win_test`): then their operations are complete. It moves the engine a
    /// step, and does not wait.
    ///
    /// # Errors
    /// See [`window::Window::test`].
    pub fn test(&mut self) -> Result<bool> {
        if !self.is_over {
            self.is_over = self.parts.core.call(window::Window::test)?;
        }
        Ok(self.is_over)
    }

    /// This rank's own memory.
    pub fn local(&self) -> View<'_, T> {
        View::own(self.parts.core.plain())
    }
}

/// Runs `body` in an access epoch.
pub(super) fn access<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope WindowParts<T>,
    targets: &[impl IntoRank],
    assert: Assert,
    body: impl FnOnce(&AccessEpoch<'scope, T>) -> Result<R, E>,
) -> Result<R, E> {
    parts.core.call(|window| window.start(&group(targets, "start")?, assert))?;
    let epoch = Epoch::active(parts);
    scope::epoch(parts, || body(&epoch), || parts.core.call(window::Window::complete))
}

/// Runs `body` while this rank's memory is exposed.
pub(super) fn expose<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope WindowParts<T>,
    origins: &[impl IntoRank],
    assert: Assert,
    body: impl FnOnce(&mut Exposure<'scope, T, E>) -> Result<R, E>,
) -> Result<R, E> {
    parts.core.call(|window| window.post_to(&group(origins, "post")?, assert))?;
    let mut exposure = Exposure { parts, is_over: false, assert, error: PhantomData };
    // What others do with the memory needs no buffer of this rank's: an error of the wait releases nothing.
    let outcome = scope::catch(|| body(&mut exposure));
    let closed = if exposure.is_over { Ok(()) } else { parts.core.call(window::Window::wait) };
    scope::outcome(outcome, closed)
}

impl<T, E> fmt::Debug for Exposure<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exposure of {:?}", self.parts.core)
    }
}
