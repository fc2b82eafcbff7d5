//! Making windows: over memory of the library, over the program's own, and over memory that a node shares.

use super::core::Core;
use super::dynamic::Attached;
use super::operations::WindowParts;
use super::scope;
use super::typed::{Window, is_left, not_left};
use super::values::ScopeValues;
use crate::Communicator;
use crate::elements::{Element, write_span};
use rma_core::window::{Hints, WindowSpec};
use rma_core::{Error, ErrorClass, Result};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A window that is about to be made ([`Communicator::window`]).
///
/// The methods that make it are collective: every rank of the communicator calls the same one.
pub struct WindowBuilder<'world, T, E = Error> {
    communicator: Over<'world>,
    len: usize,
    name: Option<String>,
    hints: Hints,
    element: PhantomData<fn() -> (T, E)>,
}

/// What a window is made over.
#[derive(Clone)]
enum Over<'world> {
    Borrowed(&'world Communicator),
    Kept(Arc<Communicator>),
}

impl Communicator {
    /// A window of elements of `T`, to be described and made.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut table = world.window::<u64>().len(16).name("table").allocate()?;
    ///     let rank = world.rank();
    ///     table.fence_epoch(|epoch| epoch.put_value(7, (rank + 1) % 4, rank as usize))?;
    ///     assert_eq!(table.local().get((rank as usize + 3) % 4), 7);
    ///     table.free()
    /// })
    /// .unwrap();
    /// ```
    pub fn window<T: Element>(&self) -> WindowBuilder<'_, T> {
        WindowBuilder::new(Over::Borrowed(self))
    }

    /// As [`Communicator::window`], of a window that keeps its communicator: a struct may have both, and no lifetime. Such a
    /// window may be kept beyond the world, and then all its calls that need other ranks are errors.
    ///
    /// ```
    /// use rma::{Communicator, Window, World};
    /// use std::sync::Arc;
    ///
    /// struct Solver {
    ///     half: Arc<Communicator>,
    ///     grid: Window<'static, f64>,
    ///     sums: Window<'static, f64>,
    /// }
    ///
    /// impl Solver {
    ///     fn new(world: &World) -> rma::Result<Self> {
    ///         let half = world.split(Some(world.rank() % 2), 0)?.expect("every rank gives a color");
    ///         let half = Arc::new(half);
    ///         let grid = Arc::clone(&half).owned_window().len(2).allocate()?;
    ///         let sums = world.communicator().owned_window().len(1).allocate()?;
    ///         Ok(Self { half, grid, sums })
    ///     }
    ///
    ///     fn step(&mut self) -> rma::Result<f64> {
    ///         let right = (self.half.rank() + 1) % self.half.size();
    ///         self.grid.fence_epoch(|epoch| epoch.put_value(1.5, right, 1))?;
    ///         let value = self.grid.local().get(1);
    ///         self.sums.fence_epoch(|epoch| epoch.accumulate_value(value, rma::ReduceOp::Sum, 0, 0))?;
    ///         self.sums.shared(0, |rank0| rank0.load(0))
    ///     }
    /// }
    ///
    /// World::run_threads(4, |world| {
    ///     let mut solver = Solver::new(world)?;
    ///     assert_eq!(solver.step()?, 6.0);
    ///     world.barrier()?;
    ///     solver.sums.free()?;
    ///     solver.grid.free()
    /// })
    /// .unwrap();
    /// ```
    pub fn owned_window<T: Element>(self: Arc<Self>) -> WindowBuilder<'static, T> {
        WindowBuilder::new(Over::Kept(self))
    }

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
        self.window().len(len).allocate()
    }
}

impl<'world, T, E> WindowBuilder<'world, T, E> {
    fn new(communicator: Over<'world>) -> Self {
        Self { communicator, len: 0, name: None, hints: Hints::default(), element: PhantomData }
    }
}

impl<'world, T: Element, E: From<Error>> WindowBuilder<'world, T, E> {
    /// Elements that the library allocates on this rank; 0 unless told. Ranks may have different numbers.
    #[must_use]
    pub fn len(self, len: usize) -> Self {
        Self { len, ..self }
    }

    /// What reports and traces call the window (`MPI_Win_set_name`).
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// No rank locks the window. Nothing depends on the promise here: a window that is locked all the same works.
    #[must_use]
    pub fn no_locks(self) -> Self {
        self.hint("no_locks", "true")
    }

    /// The ranks' parts of a shared window begin at pages of their own, so that each lies near its rank.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let node = world.split_by_node(Some(0))?.expect("every rank gives a key");
    ///     let window = node.window::<u8>().len(1).no_locks().parts_apart().allocate_shared()?;
    ///     let part = |rank| window.part(rank).expect("it is mapped").as_mut_ptr() as usize;
    ///     assert!(part(1).abs_diff(part(0)) >= 4096);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    #[must_use]
    pub fn parts_apart(self) -> Self {
        self.hint("alloc_shared_noncontig", "true")
    }

    /// The library's memory begins at a multiple of so many bytes, rounded up to a power of two: at pages unless told, and at huge
    /// pages at most.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let window = world.window::<f32>().len(1).aligned_to(1 << 16).allocate()?;
    ///     assert_eq!(window.local().as_mut_ptr() as usize % (1 << 16), 0);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    #[must_use]
    pub fn aligned_to(self, bytes: usize) -> Self {
        let bytes = bytes.checked_next_power_of_two().unwrap_or(1 << (usize::BITS - 1));
        self.hint("mpi_minimum_memory_alignment", &bytes.to_string())
    }

    /// Hints by the keys of the standard (MPI 4.1 §12.2.1), beside those that are given already.
    #[must_use]
    pub fn hints(mut self, hints: Hints) -> Self {
        self.hints.extend(hints);
        self
    }

    /// The error type of the closures that run in the window's epochs; see [`Window::with_errors`].
    #[must_use]
    pub fn with_errors<F: From<Error>>(self) -> WindowBuilder<'world, T, F> {
        let Self { communicator, len, name, hints, .. } = self;
        WindowBuilder { communicator, len, name, hints, element: PhantomData }
    }

    /// Makes the window over zeroed memory of the library (`MPI_Win_allocate`, MPI 3.1 §11.2.2).
    ///
    /// # Errors
    /// `MPI_ERR_SIZE` when the elements do not fit the address space; see
    /// [`rma_core::window::WindowCreation::poll`].
    pub fn allocate(self) -> Result<Window<'world, T, E>> {
        let spec = WindowSpec::Allocate { len: self.bytes(), unit: size_of::<T>() as u64 };
        self.make(spec, "win_allocate", None)
    }

    /// Makes the window over zeroed memory that every rank maps (`MPI_Win_allocate_shared`, MPI 3.1 §11.2.3): [`Window::part`] is
    /// each rank's. For communicators whose ranks share a node ([`Communicator::split_by_node`]).
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let node = world.split_by_node(Some(0))?.expect("every rank gives a key");
    ///     let mut window = node.window::<u64>().len(1).allocate_shared()?;
    ///     window.fence_epoch(|epoch| {
    ///         epoch.local().set(0, 10 + u64::from(node.rank()));
    ///         Ok(())
    ///     })?;
    ///     // Loads, and no operations.
    ///     let sum: u64 = (0..4).map(|rank| window.part(rank).expect("it is mapped").get(0)).sum();
    ///     assert_eq!(sum, 10 + 11 + 12 + 13);
    ///     node.barrier()?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`WindowBuilder::allocate`], and when a rank is on another node.
    pub fn allocate_shared(self) -> Result<Window<'world, T, E>> {
        let is_contiguous = !self.hints.is_noncontiguous();
        let spec =
            WindowSpec::AllocateShared { len: self.bytes(), unit: size_of::<T>() as u64, is_contiguous };
        self.make(spec, "win_allocate_shared", None)
    }

    /// Makes the window over the elements of `buffer` (`MPI_Win_create`, MPI 3.1 §11.2.1), which [`Window::into_buffer`] gives back.
    /// As long as the window may be reached by others, the buffer is not released, whatever becomes of the window.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.window().over(vec![1.5; 4])?;
    ///     let rank = world.rank();
    ///     window.fence_epoch(|epoch| epoch.put_value(f64::from(rank), (rank + 1) % 4, 2))?;
    ///     let buffer = window.into_buffer()?;
    ///     assert_eq!(buffer, [1.5, 1.5, f64::from((rank + 3) % 4), 1.5]);
    ///     Ok(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`WindowBuilder::allocate`]. The buffer is lost then.
    pub fn over(self, buffer: Vec<T>) -> Result<Window<'world, T, E>> {
        // Dropped only where no rank can reach it.
        let mut buffer = ManuallyDrop::new(buffer);
        // SAFETY: the memory stays the buffer's until `Window::into_buffer`, and a buffer that is never given back is leaked.
        let memory = unsafe { write_span(&mut buffer) };
        let spec = WindowSpec::Create { memory, unit: size_of::<T>() as u64 };
        self.make(spec, "win_create", Some(buffer))
    }

    /// Makes a window over `memory`, runs `body` with it, and frees it; collective, as making and freeing are. When it returns,
    /// also by a panic, no rank reaches the memory any more: it waits until all ranks have come to the end of theirs. Should they not
    /// meet, because one has died or the window was revoked, and their host map the memory for them, it cannot be taken
    /// back, and the process ends; [`WindowBuilder::over`] is for programs that outlive that.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let (rank, mut grid) = (world.rank(), [[0.0; 4]; 4]);
    ///     world.window().lend(grid.as_flattened_mut(), |window| {
    ///         window.fence_epoch(|epoch| epoch.put_value(1.0, (rank + 1) % 4, rank as usize))
    ///     })?;
    ///     assert_eq!(grid[0][(rank as usize + 3) % 4], 1.0);
    ///     Ok(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The closure's error, or that of making or freeing the window.
    pub fn lend<R>(
        self,
        memory: &mut [T],
        body: impl FnOnce(&mut Window<'_, T, E>) -> Result<R, E>,
    ) -> Result<R, E> {
        // SAFETY: the window is gone when this call ends, or the process is.
        let memory = unsafe { write_span(memory) };
        let spec = WindowSpec::Create { memory, unit: size_of::<T>() as u64 };
        let mut window = self.make(spec, "win_create", None)?;
        let core = window.parts().core.clone();
        let has_left = Cell::new(false);
        let free = || {
            let freed = core.call(|window| window.clone().free());
            has_left.set(is_left(core.plain(), &freed));
            if has_left.get() { freed } else { freed.and_then(|()| core.call(|_| Err(not_left()))) }
        };
        scope::run(&core, || body(&mut window), free, || has_left.get())
    }

    pub(super) fn make(
        self,
        spec: WindowSpec,
        call: &'static str,
        buffer: Option<ManuallyDrop<Vec<T>>>,
    ) -> Result<Window<'world, T, E>> {
        if size_of::<T>() == 0 {
            return Err(Error::new(ErrorClass::Type, call, "elements without bytes cannot be exposed"));
        }
        let Self { communicator: over, name, hints, .. } = self;
        let (communicator, kept) = match &over {
            Over::Borrowed(communicator) => (*communicator, None),
            Over::Kept(communicator) => (&**communicator, Some(Arc::clone(communicator))),
        };
        if let Err(fault) = communicator.runtime().prepare_window() {
            return Err(communicator.engine().refuse_window(communicator.group(), fault));
        }
        let core = communicator.engine().create_window_with(communicator.group(), spec, hints)?;
        if let Some(name) = name {
            core.set_name(&name);
        }
        let wakers = Arc::clone(&communicator.runtime().wakers);
        let parts = WindowParts {
            core: Core::new(core),
            values: ScopeValues::new(),
            wakers,
            attached: Attached::new(),
        };
        Ok(Window::new(parts, buffer, kept))
    }

    /// An impossible size takes part in the creation, so that no rank is left waiting.
    fn bytes(&self) -> u64 {
        (self.len as u64).saturating_mul(size_of::<T>() as u64)
    }

    pub(super) fn hint(mut self, key: &str, value: &str) -> Self {
        let is_known = self.hints.set(key, value);
        debug_assert!(is_known, "{key}={value} is a hint");
        self
    }
}

impl<T, E> fmt::Debug for WindowBuilder<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowBuilder")
            .field("len", &self.len)
            .field("name", &self.name)
            .field("hints", &self.hints)
            .finish_non_exhaustive()
    }
}
