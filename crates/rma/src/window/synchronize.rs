//! The scopes of a window: every way to open an epoch, each of which runs a closure in it (MPI 3.1 §11.5).
//!
//! What a scope does, and the handle that its closure gets, are in the files of the epochs: `fence`, `active`, `lock`, `lock_all` and,
//! for what the program promises, `asserted`.

use super::active::{AccessEpoch, Exposure, access, expose};
use super::asserted::{ReadEpoch, Unchecked, with_reads};
use super::fence::{FenceEpoch, FenceEpochs, with_chain, with_fences};
use super::lock::{LockSet, Locked, with_lock, with_set};
use super::lock_all::{LockAll, with_all};
use super::rank::IntoRank;
use super::typed::Window;
use crate::elements::Element;
use rma_core::epoch::{Assert, LockKind};
use rma_core::{Error, Result};

impl<'world, T: Element, E: From<Error>> Window<'world, T, E> {
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
        with_fences(self.opened("fence")?, body)
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
        with_chain(self.opened("fence")?, body)
    }

    /// As [`Window::fence_epoch`] in which no rank writes: the fences say so (`MPI_MODE_NOPUT`, `MPI_MODE_NOSTORE`), and the handle
    /// has nothing that writes. All ranks open such an epoch.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u32>(1)?;
    ///     window.local().set(0, world.rank());
    ///     let mut all = [9; 4];
    ///     window.read_epoch(|reads| {
    ///         let places = all.iter_mut().enumerate();
    ///         places.map(|(rank, place)| reads.get(std::slice::from_mut(place), rank, 0)).collect::<Result<(), _>>()
    ///     })?;
    ///     assert_eq!(all, [0, 1, 2, 3]);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Window::fence_epoch`].
    pub fn read_epoch<'scope, R>(
        &'scope mut self,
        body: impl FnOnce(&ReadEpoch<'scope, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        with_reads(self.opened("fence")?, body)
    }

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

    /// Runs `body` while this rank holds the exclusive lock of rank `target`.
    ///
    /// ```
    /// rma::World::run_threads(3, |world| {
    ///     let mut window = world.allocate::<f64>(1)?;
    ///     // Read, compute, write: no other rank is in between.
    ///     window.exclusive(0, |rank0| {
    ///         let old = rank0.load(0)?;
    ///         rank0.store(0, old.mul_add(2.0, 1.0))
    ///     })?;
    ///     world.barrier()?;
    ///     assert_eq!(window.shared(0, |rank0| rank0.load(0))?, 7.0);
    ///     world.barrier()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The closure's error, or that of lock or unlock; see [`rma_core::window::Window::lock`].
    pub fn exclusive<'scope, R>(
        &'scope mut self,
        target: impl IntoRank,
        body: impl FnOnce(&Locked<'scope, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        with_lock(self.opened("lock")?, LockKind::Exclusive, target, Assert::NONE, body)
    }

    /// Runs `body` while this rank holds a shared lock of rank `target`.
    ///
    /// # Errors
    /// As [`Window::exclusive`].
    pub fn shared<'scope, R>(
        &'scope mut self,
        target: impl IntoRank,
        body: impl FnOnce(&Locked<'scope, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        with_lock(self.opened("lock")?, LockKind::Shared, target, Assert::NONE, body)
    }

    /// Runs `body` while this rank holds these locks. They are taken in ascending rank order, so that two sets cannot wait
    /// for each other; `body` finds them in the order given.
    ///
    /// ```
    /// use rma::LockKind::{Exclusive, Shared};
    ///
    /// rma::World::run_threads(3, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.local().set(0, 10 * u64::from(world.rank()));
    ///     world.barrier()?;
    ///     if world.rank() == 0 {
    ///         window.lock_set(&[(2, Exclusive), (1, Shared)], |set| {
    ///             let [two, one] = set.ranks() else { unreachable!("two ranks were named") };
    ///             two.fetch_add(0, one.load(0)?)
    ///         })?;
    ///     }
    ///     world.barrier()?;
    ///     if world.rank() == 2 {
    ///         assert_eq!(window.local().get(0), 30);
    ///     }
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Window::exclusive`]; `MPI_ERR_RMA_SYNC` when a rank is named twice.
    pub fn lock_set<'scope, R>(
        &'scope mut self,
        locks: &[(impl IntoRank, LockKind)],
        body: impl FnOnce(&LockSet<'scope, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        with_set(self.opened("lock")?, locks, body)
    }

    /// Runs `body` while this rank holds a shared lock of every rank (`MPI_Win_lock_all`, `MPI_Win_unlock_all`). The handle may be
    /// used by several threads:
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.lock_all(|all| {
    ///         std::thread::scope(|scope| {
    ///             // A thread for each rank adds to its counter.
    ///             let add = |rank: u32| all.rank(rank)?.fetch_add(0, 1);
    ///             let threads: Vec<_> = (0..4).map(|rank| scope.spawn(move || add(rank))).collect();
    ///             threads.into_iter().try_for_each(|thread| {
    ///                 let before = thread.join().expect("no thread panics")?;
    ///                 assert!(before < 4);
    ///                 Ok(())
    ///             })
    ///         })
    ///     })?;
    ///     world.barrier()?;
    ///     assert_eq!(window.local().get(0), 4);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The closure's error, or that of lock_all or unlock_all; see [`rma_core::window::Window::lock_all`].
    pub fn lock_all<'scope, R>(
        &'scope mut self,
        body: impl FnOnce(&LockAll<'scope, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        with_all(self.opened("lock_all")?, Assert::NONE, body)
    }

    /// The window for one epoch that need not be checked against others (`MPI_MODE_NOCHECK`): no rank holds or asks for a lock that
    /// would exclude it, or the other side has opened its epoch before. It saves messages. If the promise is broken, nothing is
    /// excluded and values may be lost; an [`Unchecked::access`] that comes before its exposure is an error.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     let right = (world.rank() + 1) % world.size();
    ///     // Each rank has another one for itself.
    ///     window.unchecked().exclusive(right, |locked| locked.store(0, u64::from(right)))?;
    ///     world.barrier()?;
    ///     let sum = window.unchecked().lock_all(|all| {
    ///         (0..4).try_fold(0, |sum, rank| Ok(sum + all.rank(rank)?.load(0)?))
    ///     })?;
    ///     assert_eq!(sum, 6);
    ///     world.barrier()?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    pub fn unchecked(&mut self) -> Unchecked<'_, 'world, T, E> {
        Unchecked::new(self)
    }
}
