//! The typed window itself: made by a builder, freed collectively.

use super::operations::WindowParts;
use super::rank::IntoRank;
use super::view::View;
use crate::Communicator;
use crate::elements::Element;
use rma_core::ids::{Rank, WindowId};
use rma_core::window::{self, Hints};
use rma_core::{Error, ErrorClass, Result};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// Elements of `T` that every rank of a communicator exposes. Made by [`Communicator::window`] or [`Communicator::allocate`].
///
/// Dropping a window without [`Window::free`] is allowed; its memory then stays exposed until the world ends, because
/// freeing is collective.
///
/// `E` is the error type of the closures that run in epochs: this library's, unless [`Window::with_errors`] has chosen another one.
pub struct Window<'world, T, E = Error> {
    parts: WindowParts<T>,
    /// The program's memory that the window exposes. Dropped only where no rank can reach it.
    buffer: Option<ManuallyDrop<Vec<T>>>,
    /// There where the window keeps it.
    communicator: Option<Arc<Communicator>>,
    world: PhantomData<&'world Communicator>,
    error: PhantomData<fn() -> E>,
}

impl<'world, T: Element, E> Window<'world, T, E> {
    pub(super) fn new(
        parts: WindowParts<T>,
        buffer: Option<ManuallyDrop<Vec<T>>>,
        communicator: Option<Arc<Communicator>>,
    ) -> Self {
        Self { parts, buffer, communicator, world: PhantomData, error: PhantomData }
    }

    /// The same window, whose closures may end with errors of the program's own.
    ///
    /// ```
    /// #[derive(Debug)]
    /// enum Failure {
    ///     Rma(rma::Error),
    ///     Empty { rank: u32 },
    /// }
    ///
    /// impl From<rma::Error> for Failure {
    ///     fn from(error: rma::Error) -> Self {
    ///         Self::Rma(error)
    ///     }
    /// }
    ///
    /// rma::World::run_threads(2, |world| {
    ///     let mut window = world.allocate::<u64>(1)?.with_errors::<Failure>();
    ///     let taken = window.exclusive(0, |rank0| match rank0.load(0)? {
    ///         0 => Err(Failure::Empty { rank: 0 }),
    ///         count => Ok(rank0.store(0, count - 1)?),
    ///     });
    ///     assert!(matches!(taken, Err(Failure::Empty { rank: 0 })));
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    pub fn with_errors<F: From<Error>>(self) -> Window<'world, T, F> {
        Window::new(self.parts, self.buffer, self.communicator)
    }

    /// The communicator of a window that keeps it ([`Communicator::owned_window`]).
    pub fn communicator(&self) -> Option<&Arc<Communicator>> {
        self.communicator.as_ref()
    }

    /// What errors call the window ([`Error::window`]): the same on all its ranks, and no other window of this process has it meanwhile.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let (mut first, mut second) = (world.allocate::<u64>(1)?, world.allocate::<u64>(1)?);
    ///     let failed = [&mut first, &mut second].map(|window| window.exclusive(3, |rank3| rank3.load(1)).unwrap_err());
    ///     let windows = failed.each_ref().map(|error| error.window());
    ///     assert_eq!(windows, [Some(first.id()), Some(second.id())]);
    ///     assert_eq!((failed[0].rank(), failed[0].limit()), (Some(3), Some(8)));
    ///     second.free()?;
    ///     first.free()
    /// })
    /// .unwrap();
    /// ```
    pub fn id(&self) -> WindowId {
        self.parts.core.plain().id()
    }

    /// The caller's rank.
    pub fn rank(&self) -> u32 {
        self.parts.core.plain().rank().0
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.parts.core.plain().size()
    }

    /// This rank's own memory.
    pub fn local(&self) -> View<'_, T> {
        View::own(self.parts.core.plain())
    }

    /// The memory of `rank`, when it is mapped in this process: that of every rank in a shared window
    /// ([`WindowBuilder::allocate_shared`](super::WindowBuilder::allocate_shared)), of ranks on the same node in an allocated one.
    /// Loads and stores need an order between the ranks: a fence, a lock with `sync`, a message.
    pub fn part(&self, rank: impl IntoRank) -> Option<View<'_, T>> {
        View::mapped(self.parts.core.plain(), rank.into_rank("win_shared_query").ok()?)
    }

    /// Whether operations on `rank` are direct loads and stores.
    pub fn is_direct(&self, rank: impl IntoRank) -> bool {
        rank.into_rank("win_shared_query").is_ok_and(|rank| self.parts.core.plain().is_direct(rank))
    }

    /// Takes over hints that may change after creation, each rank its own (`MPI_Win_set_info`); the others stay as they are.
    ///
    /// ```
    /// use rma::window::Hints;
    ///
    /// rma::World::run_threads(4, |world| {
    ///     let window = world.allocate::<u64>(1)?;
    ///     let mut hints = Hints::default();
    ///     assert!(hints.set("accumulate_ops", "same_op") && !hints.set("accumulate_ops", "any"));
    ///     window.set_hints(&hints);
    ///     assert!(window.hints().contains(&("accumulate_ops", "same_op".to_owned())));
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    pub fn set_hints(&self, hints: &Hints) {
        self.parts.core.plain().set_hints(hints);
    }

    /// The hints in force, key and value (`MPI_Win_get_info`).
    pub fn hints(&self) -> Vec<(&'static str, String)> {
        self.parts.core.plain().hints()
    }

    /// Ends the window; collective.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::free`].
    pub fn free(self) -> Result<()> {
        self.end().map(drop)
    }

    /// Ends the window, and gives back the buffer that it was made over
    /// ([`WindowBuilder::over`](super::WindowBuilder::over)); collective.
    ///
    /// # Errors
    /// As [`Window::free`]; `MPI_ERR_RMA_FLAVOR` when the library has allocated the memory. `MPIX_ERR_REVOKED` when the window was
    /// revoked and ranks that map the memory have not left it yet: the memory stays theirs.
    pub fn into_buffer(self) -> Result<Vec<T>> {
        const CALL: &str = "win_free";
        if self.buffer.is_none() {
            let cause = "the library has allocated the window's memory, and there is no buffer to give back";
            let fault = Error::new(ErrorClass::RmaFlavor, CALL, cause).in_window(self.id());
            return self.free().and(Err(fault));
        }
        let id = self.id();
        self.end()?.ok_or_else(|| not_left().in_window(id))
    }

    /// Ends the window. The buffer comes back when no rank can reach it.
    fn end(self) -> Result<Option<Vec<T>>> {
        self.opened("win_free")?;
        let core = self.parts.core;
        let freed = core.call(|window| window.clone().free());
        let is_left = is_left(core.plain(), &freed);
        if is_left {
            self.parts.attached.release();
        }
        let buffer = self.buffer.filter(|_| is_left).map(ManuallyDrop::into_inner);
        freed.map(|()| buffer)
    }

    /// Makes every call on this window an error of class `MPIX_ERR_REVOKED`, on all ranks: those that wait,
    /// and those to come, but for [`Window::free`], which then succeeds without waiting. Returns at once, and
    /// cannot be taken back.
    pub fn revoke(&self) {
        self.parts.core.plain().revoke();
    }

    /// Whether it was revoked, as far as this process has heard.
    pub fn is_revoked(&self) -> bool {
        self.parts.core.plain().is_revoked()
    }

    pub(super) fn parts(&self) -> &WindowParts<T> {
        &self.parts
    }

    /// The parts, for a call that needs other ranks.
    #[inline]
    pub(super) fn opened(&self, call: &'static str) -> Result<&WindowParts<T>> {
        match &self.communicator {
            Some(_) if self.parts.wakers.is_over() => {
                Err(ended(call).in_window(self.parts.core.plain().id()))
            }
            _ => Ok(&self.parts),
        }
    }
}

/// Whether memory of the program is its own again, now that this rank has freed the window.
///
/// Where all ranks have met it is. Where they have not, because one is dead or the window was revoked, the engine touches the memory no
/// more, but ranks whose host has mapped it for them may.
pub(super) fn is_left(core: &window::Window, freed: &Result<()>) -> bool {
    let is_mapped = |rank: u32| rank != core.rank().0 && core.is_direct(Rank(rank));
    (freed.is_ok() && !core.is_revoked()) || !(0..core.size()).any(is_mapped)
}

/// The error of a window that is kept beyond its world.
#[cold]
fn ended(call: &'static str) -> Error {
    Error::new(ErrorClass::Other, call, "the world of the window has ended")
}

/// The error of memory that other ranks may still reach.
#[cold]
pub(super) fn not_left() -> Error {
    Error::new(ErrorClass::Revoked, "win_free", "the window was revoked, and other ranks may still be in it")
}

impl<T, E> fmt::Debug for Window<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.core.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;

    #[test]
    fn memory_that_others_map_is_theirs_until_all_have_met() {
        let ended = World::run_threads(2, |world| {
            let window = world.allocate::<u64>(1)?;
            let core = window.parts().core.plain();
            let failed = Err(Error::new(ErrorClass::ProcFailed, "win_free", "a rank has died"));
            assert_eq!((is_left(core, &Ok(())), is_left(core, &failed)), (true, false));
            world.barrier()?;
            window.revoke();
            assert!(!is_left(core, &Ok(())));
            Ok(())
        });
        ended.unwrap();
    }
}
