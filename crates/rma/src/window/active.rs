//! Epochs of groups: origins and targets name each other (MPI 3.1 §11.5.2).
//!
//! A rank exposes its memory to the origins that it names, and they access the memory of the targets that they name. Opening an
//! access epoch waits only for targets whose memory is mapped; opening an exposure never waits.

use super::epoch::Epoch;
use super::operations::Parts;
use super::rank::{IntoRank, group};
use super::scope;
use super::typed::Window;
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

/// This rank's memory while it is exposed to the origins that it has named. Made by [`Window::expose`].
pub struct Exposure<'scope, T, E> {
    parts: &'scope Parts<T>,
    is_over: bool,
    /// Of the epochs within: where one side need not be checked, the other is not.
    assert: Assert,
    error: PhantomData<fn() -> E>,
}

impl<T: Element, E: From<Error>> Window<'_, T, E> {
    /// Runs `body` in an access epoch to `targets` (`MPI_Win_start`, `MPI_Win_complete`), each of which exposes its memory to this rank.
    /// When it returns, the operations are complete here; they are complete at a target when its [`Window::expose`] returns.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u32>(4)?;
    ///     let rank = world.rank();
    ///     // Rank 0 is the target of all others.
    ///     if rank == 0 {
    ///         window.expose(&[1, 2, 3], |_| Ok(()))?;
    ///         assert_eq!(window.local().to_vec(), [0, 1, 2, 3]);
    ///     } else {
    ///         window.access(&[0], |epoch| epoch.put_value(rank, 0, rank as usize))?;
    ///     }
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The closure's error, or that of start or complete; see [`rma_core::window::Window::start`].
    pub fn access<'scope, R>(
        &'scope mut self,
        targets: &[impl IntoRank],
        body: impl FnOnce(&AccessEpoch<'scope, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        access(self.opened("start")?, targets, Assert::NONE, body)
    }

    /// Runs `body` while this rank's memory is exposed to `origins` (`MPI_Win_post`, `MPI_Win_wait`), each of which accesses it. When
    /// it returns, their operations are complete.
    ///
    /// A rank that is target and origin at a time opens its access epoch within the exposure:
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u32>(2)?;
    ///     let (rank, size) = (world.rank(), world.size());
    ///     let neighbours = [(rank + 1) % size, (rank + size - 1) % size];
    ///     window.expose(&neighbours, |exposure| {
    ///         exposure.access(&neighbours, |epoch| {
    ///             epoch.put_value(rank, neighbours[0], 0)?;
    ///             epoch.put_value(rank, neighbours[1], 1)
    ///         })
    ///     })?;
    ///     assert_eq!(window.local().to_vec(), [(rank + 3) % 4, (rank + 1) % 4]);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The closure's error, or that of post or wait; see [`rma_core::window::Window::post_to`].
    pub fn expose<'scope, R>(
        &'scope mut self,
        origins: &[impl IntoRank],
        body: impl FnOnce(&mut Exposure<'scope, T, E>) -> Result<R, E>,
    ) -> Result<R, E> {
        expose(self.opened("post")?, origins, Assert::NONE, body)
    }
}

impl<T: Element, E: From<Error>> Exposure<'_, T, E> {
    /// As [`Window::access`], while this rank's own memory is exposed.
    ///
    /// # Errors
    /// As [`Window::access`].
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

pub(super) fn access<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope Parts<T>,
    targets: &[impl IntoRank],
    assert: Assert,
    body: impl FnOnce(&AccessEpoch<'scope, T>) -> Result<R, E>,
) -> Result<R, E> {
    parts.core.call(|window| window.start(&group(targets, "start")?, assert))?;
    let epoch = Epoch::active(parts);
    scope::epoch(parts, || body(&epoch), || parts.core.call(window::Window::complete))
}

pub(super) fn expose<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope Parts<T>,
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
