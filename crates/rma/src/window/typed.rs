//! The typed window itself: made by a world, freed collectively.

use super::element::Element;
use super::view::View;
use crate::World;
use rma_core::ids::Rank;
use rma_core::window::WindowSpec;
use rma_core::{Error, ErrorClass, Result};
use std::fmt;
use std::marker::PhantomData;

/// Elements of `T` that every rank of the world exposes. Made by [`World::allocate`].
///
/// Dropping a window without [`Window::free`] is allowed; its memory then stays exposed until the world ends, because
/// freeing is collective.
pub struct Window<'world, T> {
    core: rma_core::window::Window,
    world: PhantomData<&'world World>,
    element: PhantomData<T>,
}

impl World {
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
        Ok(Window { core, world: PhantomData, element: PhantomData })
    }
}

impl<T: Element> Window<'_, T> {
    /// The caller's rank.
    pub fn rank(&self) -> u32 {
        self.core.rank().0
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.core.size()
    }

    /// This rank's own memory.
    pub fn local(&self) -> View<'_, T> {
        View::own(&self.core)
    }

    /// Whether operations on `rank` are direct loads and stores.
    pub fn is_direct(&self, rank: u32) -> bool {
        self.core.is_direct(Rank(rank))
    }

    /// Ends the window; collective.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::free`].
    pub fn free(self) -> Result<()> {
        self.core.free()
    }

    /// Makes every call on this window an error of class `MPIX_ERR_REVOKED`, on all ranks: those that wait,
    /// and those to come, but for [`Window::free`], which then succeeds without waiting. Returns at once, and
    /// cannot be taken back.
    pub fn revoke(&self) {
        self.core.revoke();
    }

    /// Whether it was revoked, as far as this process has heard.
    pub fn is_revoked(&self) -> bool {
        self.core.is_revoked()
    }

    pub(super) fn core(&self) -> &rma_core::window::Window {
        &self.core
    }
}

impl<T> fmt::Debug for Window<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}
