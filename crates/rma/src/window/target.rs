//! Handles of one rank: it is locked, or a batch of operations goes to it.

use super::lock::Lock;
use super::operations::{Access, WindowParts};
use super::scope;
use super::view::View;
use crate::elements::{Element, Integer, Number};
use rma_core::Result;
use rma_core::ids::Rank;
use rma_core::kernel::ReduceOp;
use rma_core::window::{UnfinishedReport, Window};
use std::fmt;
use std::marker::PhantomData;

/// The handle of one rank: the operations that can be made on it.
///
/// [`Locked`](super::Locked) and [`Batch`] are such handles. Displacements and lengths are in elements. Any number of threads may use
/// one handle at a time. Buffers are borrowed until the call that has opened the scope returns, when all its operations are
/// complete.
pub struct Target<'scope, T, K> {
    access: Access<'scope, T>,
    rank: Rank,
    kind: PhantomData<fn() -> K>,
}

/// Operations that a flush completes.
#[derive(Debug)]
pub enum Batched {}

/// Operations to one locked rank whose buffers are free again when the batch ends.
///
/// Made by [`Locked::batch`](Target::batch).
pub type Batch<'scope, T> = Target<'scope, T, Batched>;

impl<'scope, T, K> Target<'scope, T, K> {
    pub(super) fn new(access: Access<'scope, T>, rank: Rank) -> Self {
        Self { access, rank, kind: PhantomData }
    }

    pub(super) fn parts(&self) -> &'scope WindowParts<T> {
        self.access.parts()
    }

    pub(super) fn access(&self) -> &Access<'scope, T> {
        &self.access
    }

    pub(super) fn target(&self) -> Rank {
        self.rank
    }

    /// The rank; `u32::MAX` for no process.
    pub fn rank(&self) -> u32 {
        self.rank.0
    }
}

impl<'scope, T: Element, K> Target<'scope, T, K> {
    /// Stores `origin` at displacement `disp` (`MPI_Put`).
    ///
    /// # Errors
    /// See [`rma_core::window::Window::put`].
    #[inline]
    pub fn put(&self, origin: &'scope [T], disp: usize) -> Result<()> {
        self.access.put(origin, self.rank, disp)
    }

    /// As [`Target::put`], for one element that needs no buffer.
    ///
    /// # Errors
    /// As [`Target::put`].
    #[inline]
    pub fn put_value(&self, value: T, disp: usize) -> Result<()> {
        self.access.put_value(value, self.rank, disp)
    }

    /// Fills `result` from displacement `disp` (`MPI_Get`).
    ///
    /// # Errors
    /// See [`rma_core::window::Window::get`].
    #[inline]
    pub fn get(&self, result: &'scope mut [T], disp: usize) -> Result<()> {
        self.access.get(result, self.rank, disp)
    }
}

impl<'scope, T: Number, K> Target<'scope, T, K> {
    /// Combines `origin` with the elements from displacement `disp` on, each in one atomic step (`MPI_Accumulate`).
    ///
    /// # Errors
    /// `MPI_ERR_OP` when `op` is not defined on `T`; see [`rma_core::window::Window::accumulate`].
    #[inline]
    pub fn accumulate(&self, origin: &'scope [T], op: ReduceOp, disp: usize) -> Result<()> {
        self.access.accumulate(origin, op, self.rank, disp)
    }

    /// As [`Target::accumulate`], for one element that needs no buffer.
    ///
    /// # Errors
    /// As [`Target::accumulate`].
    pub fn accumulate_value(&self, value: T, op: ReduceOp, disp: usize) -> Result<()> {
        self.access.accumulate_value(value, op, self.rank, disp)
    }

    /// As [`Target::accumulate`], and fills `result`, which is as long as `origin`, with what the elements were before
    /// (`MPI_Get_accumulate`).
    ///
    /// # Errors
    /// As [`Target::accumulate`]; `MPI_ERR_COUNT` when the lengths differ.
    pub fn get_accumulate(
        &self,
        origin: &'scope [T],
        result: &'scope mut [T],
        op: ReduceOp,
        disp: usize,
    ) -> Result<()> {
        self.access.get_accumulate(origin, result, op, self.rank, disp)
    }

    /// Fills `result` from displacement `disp`, each element in one atomic step that changes nothing (`MPI_Get_accumulate` with
    /// `MPI_NO_OP`): unlike [`Target::get`], it may meet accumulates of others.
    ///
    /// # Errors
    /// As [`Target::get`].
    pub fn fetch(&self, result: &'scope mut [T], disp: usize) -> Result<()> {
        self.access.fetch(result, self.rank, disp)
    }
}

impl<'scope, T: Number> Batch<'scope, T> {
    /// Combines one element with `operand`, and stores what it was before in `result`, in one atomic step.
    ///
    /// # Errors
    /// `MPI_ERR_OP` when `op` is not defined on `T`; see [`rma_core::window::Window::fetch_and_op`].
    #[inline]
    pub fn fetch_op(&self, operand: T, result: &'scope mut T, op: ReduceOp, disp: usize) -> Result<()> {
        self.access.fetch_op_into(operand, result, op, self.rank, disp)
    }
}

impl<'scope, T: Integer> Batch<'scope, T> {
    /// Replaces one element by `swap` if it equals `compare`, and stores what it was before in `result`, in one atomic step.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::compare_and_swap`].
    #[inline]
    pub fn compare_and_swap(&self, compare: T, swap: T, result: &'scope mut T, disp: usize) -> Result<()> {
        self.access.compare_and_swap_into(compare, swap, result, self.rank, disp)
    }
}

impl<T: Element> Target<'_, T, Lock> {
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
        self.access.call(|window| window.take_bequest(self.rank))
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
        self.access.call(|window| window.unfinished(self.rank))
    }

    /// The first `number` operations that [`Locked::unfinished`](crate::window::Locked::unfinished) tells have been put right.
    ///
    /// # Errors
    /// See [`rma_core::window::Window::acknowledge_unfinished`].
    pub fn acknowledge_unfinished(&self, number: u64) -> Result<()> {
        self.access.call(|window| window.acknowledge_unfinished(self.rank, number))
    }

    /// Completes the operations so far at the target (`MPI_Win_flush`). Their buffers stay borrowed; see [`Target::batch`].
    ///
    /// ```
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     let (left, right) = ((world.rank() + 7) % 8, (world.rank() + 1) % 8);
    ///     let mine = [u64::from(world.rank())];
    ///     window.lock_all(|all| {
    ///         let neighbour = all.rank(right)?;
    ///         neighbour.put(&mine, 0)?;
    ///         // The value is there, and the rank that hears of that may read it.
    ///         neighbour.flush()?;
    ///         world.send(right, 0, &[0u8])?;
    ///         world.receive::<u8>(Some(left), None)?;
    ///         all.sync()?;
    ///         assert_eq!(all.local().get(0), u64::from(left));
    ///         Ok(())
    ///     })?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`rma_core::window::Window::flush`].
    #[inline]
    pub fn flush(&self) -> Result<()> {
        self.access.flush(self.rank)
    }

    /// Completes the operations so far at this rank (`MPI_Win_flush_local`).
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1000)?;
    ///     let (rank, values) = (world.rank(), [7; 1000]);
    ///     window.shared((rank + 1) % 4, |right| {
    ///         right.put(&values, 0)?;
    ///         // They have left this rank; they may be on their way until the lock is released.
    ///         right.flush_local()
    ///     })?;
    ///     world.barrier()?;
    ///     assert_eq!(window.local().get(999), 7);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Target::flush`].
    #[inline]
    pub fn flush_local(&self) -> Result<()> {
        self.access.call(|window| window.flush_local(self.rank))
    }

    /// Orders this rank's own loads and stores before the call before those after it (`MPI_Win_sync`).
    ///
    /// # Errors
    /// See [`rma_core::window::Window::sync`].
    pub fn sync(&self) -> Result<()> {
        self.access.call(Window::sync)
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
        let (core, rank) = (&self.parts().core, self.rank);
        let batch = Batch::new(self.access.inner(), rank);
        let flush = || core.call(|window| window.flush(rank));
        scope::run(core, || body(&batch), flush, || is_flushed(core.plain(), rank))
    }

    /// The element at `disp`, waited for.
    ///
    /// # Errors
    /// As [`Target::get`].
    pub fn load(&self, disp: usize) -> Result<T> {
        let mut value = T::zeroed();
        if self.access.try_load(&mut value, self.rank, disp) {
            return self.flush().map(|()| value);
        }
        self.batch(|batch| batch.get(std::slice::from_mut(&mut value), disp))?;
        Ok(value)
    }

    /// Stores one element, complete at the target on return.
    ///
    /// # Errors
    /// As [`Target::put`].
    pub fn store(&self, disp: usize, value: T) -> Result<()> {
        if self.access.try_store(value, self.rank, disp) {
            return self.flush();
        }
        self.batch(|batch| batch.put(std::slice::from_ref(&value), disp))
    }

    /// This rank's own memory, not that of the rank that is locked.
    ///
    /// ```
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     let (me, right) = (world.rank(), (world.rank() + 1) % 8);
    ///     window.local().set(0, u64::from(me));
    ///     world.barrier()?;
    ///     let sum = window.shared(right, |locked| Ok(locked.load(0)? + locked.local().get(0)))?;
    ///     assert_eq!(sum, u64::from(me + right));
    ///     world.barrier()?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    pub fn local(&self) -> View<'_, T> {
        View::own(self.access.plain())
    }

    /// The locked rank's memory, when it is mapped in this process.
    pub fn mapped(&self) -> Option<View<'_, T>> {
        View::mapped(self.access.plain(), self.rank)
    }
}

impl<T: Number> Target<'_, T, Lock> {
    /// Combines one element with `operand` in one atomic step, and answers what it was before (`MPI_Fetch_and_op`). With
    /// [`ReduceOp::NoOp`] it reads, with [`ReduceOp::Replace`] it swaps.
    ///
    /// ```
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     let mine = u64::from(world.rank());
    ///     let before = window.shared(0, |rank0| rank0.fetch_op(0, mine, rma::ReduceOp::Max))?;
    ///     assert!(before < 8);
    ///     world.barrier()?;
    ///     let largest = window.shared(0, |rank0| rank0.fetch_op(0, 0, rma::ReduceOp::NoOp))?;
    ///     assert_eq!(largest, 7);
    ///     world.barrier()?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Target::accumulate`].
    pub fn fetch_op(&self, disp: usize, operand: T, op: ReduceOp) -> Result<T> {
        let mut before = T::zeroed();
        if self.access.try_fetch_op(operand, &mut before, op, self.rank, disp) {
            return self.flush().map(|()| before);
        }
        self.fetch_op_slowly(disp, operand, op)
    }

    #[cold]
    fn fetch_op_slowly(&self, disp: usize, operand: T, op: ReduceOp) -> Result<T> {
        let mut before = T::zeroed();
        self.batch(|batch| batch.fetch_op(operand, &mut before, op, disp))?;
        Ok(before)
    }

    /// Adds to one element in one atomic step (integers wrap), and answers what it was before.
    ///
    /// # Errors
    /// As [`Target::accumulate`].
    pub fn fetch_add(&self, disp: usize, operand: T) -> Result<T> {
        self.fetch_op(disp, operand, ReduceOp::Sum)
    }
}

impl<T: Integer> Target<'_, T, Lock> {
    /// Replaces one element by `swap` if it equals `compare`, in one atomic step, and answers what it was before
    /// (`MPI_Compare_and_swap`).
    ///
    /// ```
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     // Each rank adds one, but none beyond 5.
    ///     let added = window.shared(0, |rank0| {
    ///         let mut seen = 0;
    ///         while seen < 5 {
    ///             match rank0.compare_and_swap(0, seen, seen + 1)? {
    ///                 found if found == seen => return Ok(1),
    ///                 found => seen = found,
    ///             }
    ///         }
    ///         Ok(0)
    ///     })?;
    ///     assert_eq!(world.allreduce(rma::ReduceOp::Sum, &[added])?, [5u32]);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`rma_core::window::Window::compare_and_swap`].
    pub fn compare_and_swap(&self, disp: usize, compare: T, swap: T) -> Result<T> {
        let mut before = T::zeroed();
        if self.access.try_compare_and_swap(compare, swap, &mut before, self.rank, disp) {
            return self.flush().map(|()| before);
        }
        self.compare_and_swap_slowly(disp, compare, swap)
    }

    #[cold]
    fn compare_and_swap_slowly(&self, disp: usize, compare: T, swap: T) -> Result<T> {
        let mut before = T::zeroed();
        self.batch(|batch| batch.compare_and_swap(compare, swap, &mut before, disp))?;
        Ok(before)
    }
}

/// Whether the operations to `target` that precede the call are complete, although a flush of it has failed.
///
/// A flush raises what has gone wrong anywhere on the window, such as an operation of another thread to another rank. That
/// says nothing about the batch, and operations of others may be outstanding; a flush that succeeds does. Each attempt
/// takes one error away. Flushes of a lost rank never succeed, but nothing is outstanding there.
fn is_flushed(window: &Window, target: Rank) -> bool {
    const ATTEMPTS: u32 = 8;
    (0..ATTEMPTS).any(|_| window.outstanding_to(target) == 0 || window.flush(target).is_ok())
}

impl<T, K> fmt::Debug for Target<'_, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = std::any::type_name::<K>().rsplit("::").next().unwrap_or_default();
        write!(f, "{kind} to rank {} of {:?}", self.rank.0, self.access.plain())
    }
}
