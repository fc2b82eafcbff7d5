//! Windows without memory of their own: regions are attached and detached by each rank alone (MPI 3.1 §11.2.4).
//!
//! A region is a vector that the window owns while it is attached, or memory that is borrowed for one call. Its displacement is a
//! value, [`Place`], which other ranks get by a message or find in a window. It is an address, and the target checks each
//! access against what is attached there: a place that is made up, or was detached, is an error of class `MPI_ERR_RMA_RANGE`.
//!
//! Nothing that is attached is released before it is detached or the window freed by all. Attaching needs the window shared, so it is
//! possible in epochs; detaching needs it mutably, so no [`View`] of a region, and no epoch, is left.

use super::builder::WindowBuilder;
use super::epoch::Epoch;
use super::lock::Lock;
use super::operations::WindowParts;
use super::scope;
use super::target::Target;
use super::typed::Window;
use super::view::View;
use crate::elements::{Element, write_span};
use parking_lot::Mutex;
use rma_core::mem::WriteSpan;
use rma_core::window::WindowSpec;
use rma_core::{Error, ErrorClass, Result};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// A window of elements of `T` to which memory is attached later ([`WindowBuilder::dynamic`]). Behaves as a [`Window`], whose
/// displacements are those of places: [`Place::at`].
pub struct DynamicWindow<'world, T, E = Error>(Window<'world, T, E>);

/// Where elements lie that a rank has attached to a dynamic window: a displacement that is also an [`Element`], so it can be sent, and
/// stored in windows. The place of zeroed memory is [`Place::NULL`].
#[repr(transparent)]
pub struct Place<T> {
    address: u64,
    element: PhantomData<fn() -> T>,
}

impl<T> Place<T> {
    /// No place.
    pub const NULL: Self = Self { address: 0, element: PhantomData };

    fn of(span: WriteSpan) -> Self {
        Self { address: span.as_mut_ptr() as u64, element: PhantomData }
    }

    /// Whether it is [`Place::NULL`].
    pub fn is_null(self) -> bool {
        self.address == 0
    }

    /// The displacement of its element `index`, for the calls that take one.
    #[inline]
    pub fn at(self, index: usize) -> usize {
        // Past the end of all addresses nothing is attached.
        index.saturating_mul(size_of::<T>()).saturating_add(self.address as usize)
    }
}

// SAFETY: it is an integer, of which every value is valid; what it leads to is checked where it is used.
unsafe impl<T: 'static> Element for Place<T> {}

/// The regions that a process has attached to a window.
#[derive(Debug)]
pub(super) struct Attached<T>(Mutex<Vec<Region<T>>>);

struct Region<T> {
    span: WriteSpan,
    /// `None` when the memory is lent. Dropped only where no rank can reach it.
    owner: Option<ManuallyDrop<Vec<T>>>,
}

impl<T> Attached<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Releases all that is owned. No rank can reach it any more.
    pub(super) fn release(self) {
        let regions = self.0.into_inner();
        regions
            .into_iter()
            .filter_map(|region| region.owner)
            .for_each(|owner| drop(ManuallyDrop::into_inner(owner)));
    }

    fn find(&self, place: Place<T>) -> Option<WriteSpan> {
        let regions = self.0.lock();
        regions.iter().map(|region| region.span).find(|span| Place::of(*span) == place)
    }

    fn owns(&self, place: Place<T>) -> bool {
        let regions = self.0.lock();
        regions.iter().any(|region| Place::of(region.span) == place && region.owner.is_some())
    }

    fn push(&self, span: WriteSpan, owner: Option<ManuallyDrop<Vec<T>>>) {
        self.0.lock().push(Region { span, owner });
    }

    fn remove(&self, place: Place<T>) -> Option<Region<T>> {
        let mut regions = self.0.lock();
        let at = regions.iter().position(|region| Place::of(region.span) == place)?;
        Some(regions.swap_remove(at))
    }
}

impl<T: Element> WindowParts<T> {
    fn attach(&self, buffer: Vec<T>) -> Result<Place<T>> {
        if buffer.is_empty() {
            return Err(self.empty_region());
        }
        // Dropped only where no rank can reach it.
        let mut buffer = ManuallyDrop::new(buffer);
        // SAFETY: the memory stays the buffer's until `detach` or the window's end, and a buffer that is never given back is leaked.
        let span = unsafe { write_span(&mut buffer) };
        // SAFETY: as above.
        if let Err(error) = self.core.call(|window| unsafe { window.attach(span) }) {
            drop(ManuallyDrop::into_inner(buffer));
            return Err(error);
        }
        self.attached.push(span, Some(buffer));
        Ok(Place::of(span))
    }

    #[cold]
    fn empty_region(&self) -> Error {
        let error = Error::new(ErrorClass::Size, "win_attach", "a region without elements has no place");
        error.in_window(self.core.plain().id())
    }

    fn region(&self, place: Place<T>) -> Option<View<'_, T>> {
        // SAFETY: detaching and freeing need the window mutably or by value, and the view borrows it.
        self.attached.find(place).map(|span| unsafe { View::of(span) })
    }
}

impl<'world, T: Element, E: From<Error>> WindowBuilder<'world, T, E> {
    /// Makes a window without memory, to which each rank attaches and from which it detaches as it likes
    /// (`MPI_Win_create_dynamic`).
    ///
    /// ```
    /// use rma::window::Place;
    ///
    /// for ranks in [4, 8] {
    ///     rma::World::run_threads(ranks, |world| {
    ///         let mut heap = world.window::<u64>().dynamic()?;
    ///         // A list of as many elements as the rank says, which is attached when it is there.
    ///         let rank = world.rank();
    ///         let mine: Place<u64> = heap.attach(vec![u64::from(rank); rank as usize + 1])?;
    ///         let places = world.allgather(&[mine])?;
    ///
    ///         let right = (rank + 1) % ranks;
    ///         let place = places[right as usize][0];
    ///         let value = heap.exclusive(right, |locked| locked.fetch_add(place.at(right as usize), 100))?;
    ///         assert_eq!(value, u64::from(right));
    ///         world.barrier()?;
    ///         let list = heap.detach(mine)?;
    ///         assert_eq!(list[rank as usize], 100 + u64::from(rank));
    ///         heap.free()
    ///     })?;
    /// }
    /// # Ok::<(), rma::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`WindowBuilder::allocate`].
    pub fn dynamic(self) -> Result<DynamicWindow<'world, T, E>> {
        self.make(WindowSpec::Dynamic, "win_create_dynamic", None).map(DynamicWindow)
    }
}

impl<T: Element, E> DynamicWindow<'_, T, E> {
    /// Attaches a buffer (`MPI_Win_attach`), which the window has until [`DynamicWindow::detach`], and says where it is. Local; within
    /// epochs the handles have it too ([`Epoch::attach`]).
    ///
    /// # Errors
    /// `MPI_ERR_SIZE` for an empty buffer; see [`rma_core::window::Window::attach`].
    pub fn attach(&self, buffer: Vec<T>) -> Result<Place<T>> {
        self.parts().attach(buffer)
    }

    /// Detaches a buffer and gives it back (`MPI_Win_detach`); local. Accesses under way are waited for, and later ones are errors of
    /// their origins.
    ///
    /// # Errors
    /// `MPI_ERR_BASE` when it is not the place of a buffer that this rank has attached; see
    /// [`rma_core::window::Window::detach`]. The buffer stays attached then.
    pub fn detach(&mut self, place: Place<T>) -> Result<Vec<T>> {
        let parts = self.parts();
        if !parts.attached.owns(place) {
            let cause = format!("no buffer is attached at {place:?}");
            return parts.core.call(|_| Err(Error::new(ErrorClass::Base, "win_detach", cause)));
        }
        parts.core.call(|window| window.detach(place.at(0)))?;
        let owner = parts.attached.remove(place).and_then(|region| region.owner);
        Ok(owner.map(ManuallyDrop::into_inner).unwrap_or_default())
    }

    /// The elements that this rank has attached at `place`.
    pub fn region(&self, place: Place<T>) -> Option<View<'_, T>> {
        self.parts().region(place)
    }

    /// Ends the window, and releases what is attached; collective.
    ///
    /// # Errors
    /// As [`Window::free`].
    pub fn free(self) -> Result<()> {
        self.0.free()
    }
}

impl<T: Element, E: From<Error>> DynamicWindow<'_, T, E> {
    /// Attaches borrowed memory, runs `body` with the window and the memory's place, and detaches it, also when `body` panics: others
    /// reach it no more when this returns. Local; how others hear that they may no longer access it is the program's concern.
    /// Should it not be possible to detach, because the window was revoked, the memory cannot be taken back, and the process ends;
    /// [`DynamicWindow::attach`] is for programs that outlive that.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut heap = world.window::<i64>().dynamic()?;
    ///     let mut grid = [[1; 4]; 2];
    ///     heap.lend(grid.as_flattened_mut(), |heap, place| {
    ///         let places = world.allgather(&[place])?;
    ///         let right = (world.rank() as usize + 1) % 4;
    ///         heap.fence_epoch(|epoch| epoch.put_value(-1, right, places[right][0].at(6)))
    ///     })?;
    ///     assert_eq!(grid, [[1; 4], [1, 1, -1, 1]]);
    ///     heap.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The closure's error; as [`DynamicWindow::attach`].
    pub fn lend<R>(
        &mut self,
        memory: &mut [T],
        body: impl FnOnce(&mut DynamicWindow<'_, T, E>, Place<T>) -> Result<R, E>,
    ) -> Result<R, E> {
        if memory.is_empty() {
            return Err(self.parts().empty_region().into());
        }
        // SAFETY: the memory is detached when this call ends, or the process has ended.
        let span = unsafe { write_span(memory) };
        // The window in the variable may be another one at the end.
        let core = self.parts().core.clone();
        // SAFETY: as above.
        core.call(|window| unsafe { window.attach(span) })?;
        self.parts().attached.push(span, None);
        let place = Place::of(span);
        let outcome = scope::catch(|| body(self, place));
        let _ = self.parts().attached.remove(place);
        let detach = || core.call(|window| window.detach(place.at(0)));
        scope::run(&core, || scope::outcome(outcome, Ok(())), detach, || false)
    }
}

impl<T: Element, K> Epoch<'_, T, K> {
    /// As [`DynamicWindow::attach`], in an epoch.
    ///
    /// # Errors
    /// As [`DynamicWindow::attach`]; `MPI_ERR_RMA_FLAVOR` when the window is not dynamic.
    pub fn attach(&self, buffer: Vec<T>) -> Result<Place<T>> {
        self.access.parts().attach(buffer)
    }

    /// As [`DynamicWindow::region`], in an epoch.
    pub fn region(&self, place: Place<T>) -> Option<View<'_, T>> {
        self.access.parts().region(place)
    }
}

impl<T: Element> Target<'_, T, Lock> {
    /// Attaches a buffer of this rank's, not of the one that is locked: as [`DynamicWindow::attach`].
    ///
    /// # Errors
    /// As [`Epoch::attach`].
    pub fn attach(&self, buffer: Vec<T>) -> Result<Place<T>> {
        self.parts().attach(buffer)
    }

    /// As [`DynamicWindow::region`]: what this rank has attached, not the one that is locked.
    pub fn region(&self, place: Place<T>) -> Option<View<'_, T>> {
        self.parts().region(place)
    }
}

impl<'world, T, E> Deref for DynamicWindow<'world, T, E> {
    type Target = Window<'world, T, E>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T, E> DerefMut for DynamicWindow<'_, T, E> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<T, E> fmt::Debug for DynamicWindow<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> fmt::Debug for Region<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = if self.owner.is_some() { "owned" } else { "lent" };
        write!(f, "{form} region at {:#x}", self.span.as_mut_ptr() as usize)
    }
}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<T> {}

impl<T> PartialEq for Place<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for Place<T> {}

impl<T> Hash for Place<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address.hash(state);
    }
}

impl<T> fmt::Debug for Place<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({:#x})", self.address)
    }
}
