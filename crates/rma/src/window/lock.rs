//! Lock epochs: one rank, or a set of ranks, without the target's help (MPI 3.1 §11.5.3).

use super::element::{Element, Integer, Number};
use super::operations::{Access, Batch, batch, with_locks};
use super::typed::Window;
use super::view::View;
use rma_core::Result;
use rma_core::epoch::LockKind;
use rma_core::ids::Rank;
use rma_core::kernel::ReduceOp;
use rma_core::window::UnfinishedReport;
use std::fmt;

/// A rank that is locked for the scope.
pub struct Locked<'scope, T> {
    access: Access<'scope, T>,
    target: u32,
}

/// Several ranks that are locked for the scope.
pub struct LockSet<'scope, T> {
    ranks: Vec<Locked<'scope, T>>,
}

impl<T: Element> Window<'_, T> {
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
        target: u32,
        body: impl FnOnce(&Locked<'scope, T>) -> Result<R>,
    ) -> Result<R> {
        self.locked(LockKind::Exclusive, target, body)
    }

    /// Runs `body` while this rank holds a shared lock of rank `target`.
    ///
    /// # Errors
    /// As [`Window::exclusive`].
    pub fn shared<'scope, R>(
        &'scope mut self,
        target: u32,
        body: impl FnOnce(&Locked<'scope, T>) -> Result<R>,
    ) -> Result<R> {
        self.locked(LockKind::Shared, target, body)
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
        locks: &[(u32, LockKind)],
        body: impl FnOnce(&LockSet<'scope, T>) -> Result<R>,
    ) -> Result<R> {
        let window = self.core();
        let ranks =
            locks.iter().map(|(target, _)| Locked { access: Access::new(window), target: *target }).collect();
        let set = LockSet { ranks };
        let mut ordered = locks.to_vec();
        ordered.sort_by_key(|(rank, _)| *rank);
        with_locks(window, &ordered, || body(&set))
    }

    fn locked<'scope, R>(
        &'scope mut self,
        kind: LockKind,
        target: u32,
        body: impl FnOnce(&Locked<'scope, T>) -> Result<R>,
    ) -> Result<R> {
        let window = self.core();
        let locked = Locked { access: Access::new(window), target };
        with_locks(window, &[(target, kind)], || body(&locked))
    }
}

impl<'scope, T> LockSet<'scope, T> {
    /// The locked ranks, in the order in which they were named.
    pub fn ranks(&self) -> &[Locked<'scope, T>] {
        &self.ranks
    }
}

impl<'scope, T: Element> Locked<'scope, T> {
    /// The rank that is locked.
    pub fn rank(&self) -> u32 {
        self.target
    }

    /// Whether a rank had died with this lock when this one got it: what it was changing may be half done. As
    /// with a poisoned mutex, but the lock is held all the same. One holder learns of it: the first that asks
    /// here.
    ///
    /// ```no_run
    /// # fn main() -> rma::Result<()> {
    /// # let world = rma::World::init()?;
    /// # let mut window = world.allocate::<u64>(2)?;
    /// // The second number is the square of the first, when no rank is in between.
    /// window.exclusive(0, |rank0| {
    ///     if rank0.is_poisoned()? {
    ///         let root = rank0.load(0)?;
    ///         rank0.store(1, root * root)?;
    ///     }
    ///     Ok(())
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`rma_core::window::Window::take_bequest`].
    pub fn is_poisoned(&self) -> Result<bool> {
        self.access.window().take_bequest(Rank(self.target))
    }

    /// What ranks that have died may have left half done in this rank's memory, so that the holder of a
    /// poisoned lock knows what to put right: the same at each call, until it is acknowledged.
    ///
    /// ```no_run
    /// # fn main() -> rma::Result<()> {
    /// # let world = rma::World::init()?;
    /// # let mut window = world.allocate::<u64>(64)?;
    /// window.exclusive(0, |rank0| {
    ///     let left = rank0.unfinished()?;
    ///     for operation in &left.operations {
    ///         // Bytes from the beginning of the memory; the last element may be of another operation too.
    ///         let (first, last) = (operation.start / 8, (operation.start.saturating_add(operation.len) - 1) / 8);
    ///         for element in first..=last.min(63) {
    ///             rank0.store(element as usize, 0)?;
    ///         }
    ///     }
    ///     rank0.acknowledge_unfinished(left.number)
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`rma_core::window::Window::unfinished`].
    pub fn unfinished(&self) -> Result<UnfinishedReport> {
        self.access.window().unfinished(Rank(self.target))
    }

    /// The first `number` operations that [`Locked::unfinished`] tells have been put right.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::acknowledge_unfinished`].
    pub fn acknowledge_unfinished(&self, number: u64) -> Result<()> {
        self.access.window().acknowledge_unfinished(Rank(self.target), number)
    }

    /// Stores `origin` at displacement `disp`.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::put`].
    pub fn put(&self, origin: &'scope [T], disp: usize) -> Result<()> {
        self.access.put(origin, self.target, disp)
    }

    /// Fills `result` from displacement `disp`.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::get`].
    pub fn get(&self, result: &'scope mut [T], disp: usize) -> Result<()> {
        self.access.get(result, self.target, disp)
    }

    /// Completes the operations so far at the target. Their buffers stay borrowed; see [`Locked::batch`].
    ///
    /// # Errors
    /// See [`rma_core::window::Window::flush`].
    pub fn flush(&self) -> Result<()> {
        self.access.window().flush(Rank(self.target))
    }

    /// Runs `body`, then flushes: buffers used in it are free afterwards, while the lock is still held.
    ///
    /// ```
    /// rma::World::run_threads(2, |world| {
    ///     let mut window = world.allocate::<u32>(8)?;
    ///     let mut row = [0; 4];
    ///     window.exclusive(0, |rank0| {
    ///         rank0.batch(|batch| batch.get(&mut row, 0))?;
    ///         // The row is here, and may be changed and sent back under the same lock.
    ///         row.iter_mut().for_each(|value| *value += 1);
    ///         rank0.batch(|batch| {
    ///             batch.put(&row, 0)?;
    ///             batch.put(&row, 4)
    ///         })
    ///     })?;
    ///     world.barrier()?;
    ///     if world.rank() == 0 {
    ///         assert_eq!(window.local().to_vec(), [2; 8]);
    ///     }
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The closure's error, or the flush's.
    pub fn batch<'inner, R>(&'inner self, body: impl FnOnce(&Batch<'inner, T>) -> Result<R>) -> Result<R> {
        batch(self.access.window(), self.target, body)
    }

    /// The element at `disp`, waited for.
    ///
    /// # Errors
    /// As [`Locked::get`].
    pub fn load(&self, disp: usize) -> Result<T> {
        let mut value = T::zeroed();
        self.batch(|batch| batch.get(std::slice::from_mut(&mut value), disp))?;
        Ok(value)
    }

    /// Stores one element, complete at the target on return.
    ///
    /// # Errors
    /// As [`Locked::put`].
    pub fn store(&self, disp: usize, value: T) -> Result<()> {
        self.batch(|batch| batch.put(std::slice::from_ref(&value), disp))
    }

    /// The locked rank's memory, when it is mapped in this process.
    pub fn mapped(&self) -> Option<View<'_, T>> {
        View::mapped(self.access.window(), self.target)
    }
}

impl<'scope, T: Number> Locked<'scope, T> {
    /// Combines `origin` with the elements from displacement `disp` on, each in one atomic step.
    ///
    /// # Errors
    /// `MPI_ERR_OP` when `op` is not defined on `T`; see [`rma_core::window::Window::accumulate`].
    pub fn accumulate(&self, origin: &'scope [T], op: ReduceOp, disp: usize) -> Result<()> {
        self.access.accumulate(origin, op, self.target, disp)
    }

    /// Combines one element with `operand` in one atomic step, and answers what it was before.
    ///
    /// # Errors
    /// As [`Locked::accumulate`].
    pub fn fetch_op(&self, disp: usize, operand: T, op: ReduceOp) -> Result<T> {
        let mut before = T::zeroed();
        self.batch(|batch| batch.fetch_op(operand, &mut before, op, disp))?;
        Ok(before)
    }

    /// Adds to one element in one atomic step (integers wrap), and answers what it was before.
    ///
    /// # Errors
    /// As [`Locked::accumulate`].
    pub fn fetch_add(&self, disp: usize, operand: T) -> Result<T> {
        self.fetch_op(disp, operand, ReduceOp::Sum)
    }
}

impl<T: Integer> Locked<'_, T> {
    /// Replaces one element by `swap` if it equals `compare`, in one atomic step, and answers what it was before.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::compare_and_swap`].
    pub fn compare_and_swap(&self, disp: usize, compare: T, swap: T) -> Result<T> {
        let mut before = T::zeroed();
        self.batch(|batch| batch.compare_and_swap(compare, swap, &mut before, disp))?;
        Ok(before)
    }
}

impl<T> fmt::Debug for Locked<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Locked rank {}", self.target)
    }
}

impl<T> fmt::Debug for LockSet<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.ranks).finish()
    }
}
