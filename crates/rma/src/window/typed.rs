//! The typed window itself: made by a communicator, freed collectively.

use super::element::Element;
use super::operations::Parts;
use super::rank::IntoRank;
use super::values::Values;
use super::view::View;
use crate::Communicator;
use rma_core::window::WindowSpec;
use rma_core::{Error, ErrorClass, Result};
use std::fmt;
use std::marker::PhantomData;

/// Elements of `T` that every rank of a communicator exposes. Made by [`Communicator::allocate`].
///
/// Dropping a window without [`Window::free`] is allowed; its memory then stays exposed until the world ends, because
/// freeing is collective.
///
/// `E` is the error type of the closures that run in epochs: this library's, unless [`Window::with_errors`] has chosen another one.
pub struct Window<'world, T, E = Error> {
    parts: Parts<T>,
    world: PhantomData<&'world Communicator>,
    error: PhantomData<fn() -> E>,
}

impl Communicator {
    /// Makes a window with `len` elements of this rank, zeroed; collective, and `len` may differ between ranks
    /// (`MPI_Win_allocate`, MPI 3.1 §11.2.2).
    ///
    /// ```
    /// rma::World::run_threads(2, |world| {
    ///     let len = 3 + world.rank() as usize;
    ///     let window = world.allocate::<[f32; 2]>(len)?;
    ///     window.local().set(2, [1.0, 2.0]);
    ///     assert_eq!((window.local().len(), window.local().get(2)), (len, [1.0, 2.0]));
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// `MPI_ERR_SIZE` when the elements do not fit the address space; see
    /// [`rma_core::window::WindowCreation::poll`].
    pub fn allocate<T: Element>(&self, len: usize) -> Result<Window<'_, T>> {
        // An impossible size takes part in the creation, so that no rank is left waiting.
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        if size_of::<T>() == 0 {
            return Err(Error::new(
                ErrorClass::Type,
                "win_allocate",
                "elements without bytes cannot be exposed",
            ));
        }
        let spec = WindowSpec::Allocate { len: bytes, unit: size_of::<T>() as u64 };
        let core = self.engine().create_window(self.group(), spec)?;
        Ok(Window::new(Parts { core, values: Values::new() }))
    }
}

impl<'world, T: Element, E> Window<'world, T, E> {
    fn new(parts: Parts<T>) -> Self {
        Self { parts, world: PhantomData, error: PhantomData }
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
        Window::new(self.parts)
    }

    /// The caller's rank.
    pub fn rank(&self) -> u32 {
        self.parts.core.rank().0
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.parts.core.size()
    }

    /// This rank's own memory.
    pub fn local(&self) -> View<'_, T> {
        View::own(&self.parts.core)
    }

    /// Whether operations on `rank` are direct loads and stores.
    pub fn is_direct(&self, rank: impl IntoRank) -> bool {
        rank.into_rank("win_shared_query").is_ok_and(|rank| self.parts.core.is_direct(rank))
    }

    /// Ends the window; collective.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::free`].
    pub fn free(self) -> Result<()> {
        self.parts.core.free()
    }

    /// Makes every call on this window an error of class `MPIX_ERR_REVOKED`, on all ranks: those that wait,
    /// and those to come, but for [`Window::free`], which then succeeds without waiting. Returns at once, and
    /// cannot be taken back.
    pub fn revoke(&self) {
        self.parts.core.revoke();
    }

    /// Whether it was revoked, as far as this process has heard.
    pub fn is_revoked(&self) -> bool {
        self.parts.core.is_revoked()
    }

    pub(super) fn parts(&self) -> &Parts<T> {
        &self.parts
    }
}

impl<T, E> fmt::Debug for Window<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.core.fmt(f)
    }
}
