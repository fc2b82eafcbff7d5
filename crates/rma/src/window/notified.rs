//! Stores that tell their target: operations that raise a counter of it.

use super::core::Core;
use super::epoch::Epoch;
use super::lock::Lock;
use super::lock_all::AllLocked;
use super::operations::Access;
use super::rank::IntoRank;
use super::target::Target;
use crate::elements::{Element, Number, read_span, write_span};
use rma_core::datatype::Datatype;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::notify::Notifying;
use rma_core::window::{self, Destination, Origin, TargetArea};
use rma_core::{Error, ErrorClass, Result};

impl<'scope, T: Element> Epoch<'scope, T, AllLocked> {
    /// As [`Epoch::put`], and raises counter `counter` of the target by one when the data are there.
    ///
    /// # Errors
    /// See [`rma_core::notify::Notifying::put`].
    #[inline]
    pub fn put_notify(
        &self,
        origin: &'scope [T],
        target: impl IntoRank,
        disp: usize,
        counter: u32,
    ) -> Result<()> {
        put(&self.access, origin, self.access.rank(target, "put_notify")?, disp, counter)
    }

    /// As [`Epoch::put_notify`], for one element that needs no buffer.
    ///
    /// ```
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<u32>(8)?;
    ///     window.set_notifications(1)?;
    ///     let me = world.rank();
    ///     window.lock_all(|all| {
    ///         (0..8).try_for_each(|rank| all.put_value_notify(10 * me, rank, me as usize, 0))?;
    ///         all.notifications().wait(0, 8)?;
    ///         assert_eq!(all.local().to_vec(), [0, 10, 20, 30, 40, 50, 60, 70]);
    ///         Ok(())
    ///     })?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Epoch::put_notify`].
    #[inline]
    pub fn put_value_notify(&self, value: T, target: impl IntoRank, disp: usize, counter: u32) -> Result<()> {
        put_value(&self.access, value, self.access.rank(target, "put_notify")?, disp, counter)
    }

    /// As [`Epoch::get`], and raises counter `counter` of the target by one when the data have been read there.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.set_notifications(1)?;
    ///     let (me, mut got) = (world.rank(), [0]);
    ///     window.local().set(0, u64::from(me));
    ///     world.barrier()?;
    ///     window.lock_all(|all| {
    ///         all.get_notify(&mut got, (me + 1) % 4, 0, 0)?;
    ///         // The left neighbour has read the value of this rank, which may put another one there.
    ///         all.notifications().wait(0, 1)?;
    ///         all.local().set(0, 100);
    ///         Ok(())
    ///     })?;
    ///     assert_eq!(got, [u64::from((me + 1) % 4)]);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Epoch::put_notify`].
    #[inline]
    pub fn get_notify(
        &self,
        result: &'scope mut [T],
        target: impl IntoRank,
        disp: usize,
        counter: u32,
    ) -> Result<()> {
        get(&self.access.parts().core, result, self.access.rank(target, "get_notify")?, disp, counter)
    }
}

impl<'scope, T: Number> Epoch<'scope, T, AllLocked> {
    /// As [`Epoch::accumulate`], and raises counter `counter` of the target by one when the data are combined there.
    ///
    /// ```
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<f64>(1)?;
    ///     window.set_notifications(1)?;
    ///     let part = [0.5];
    ///     window.lock_all(|all| {
    ///         all.accumulate_notify(&part, rma::ReduceOp::Sum, 0, 0, 0)?;
    ///         if world.rank() == 0 {
    ///             all.notifications().wait(0, 8)?;
    ///             assert_eq!(all.local().get(0), 4.0);
    ///         }
    ///         Ok(())
    ///     })?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Epoch::put_notify`]; `MPI_ERR_OP` when `op` is not defined on `T`.
    pub fn accumulate_notify(
        &self,
        origin: &'scope [T],
        op: ReduceOp,
        target: impl IntoRank,
        disp: usize,
        counter: u32,
    ) -> Result<()> {
        accumulate(
            &self.access.parts().core,
            origin,
            op,
            self.access.rank(target, "accumulate_notify")?,
            disp,
            counter,
        )
    }

    /// As [`Epoch::get_accumulate`], and raises counter `counter` of the target by one.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.set_notifications(1)?;
    ///     let (one, mut before) = ([1], [9]);
    ///     window.lock_all(|all| {
    ///         all.get_accumulate_notify((&one, &mut before), rma::ReduceOp::Sum, 0, 0, 0)?;
    ///         if world.rank() == 0 { all.notifications().wait(0, 4).map(drop) } else { Ok(()) }
    ///     })?;
    ///     assert!(before[0] < 4);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Epoch::accumulate_notify`]; `MPI_ERR_COUNT` when the lengths differ.
    pub fn get_accumulate_notify(
        &self,
        (origin, result): (&'scope [T], &'scope mut [T]),
        op: ReduceOp,
        target: impl IntoRank,
        disp: usize,
        counter: u32,
    ) -> Result<()> {
        let target = self.access.rank(target, "get_accumulate_notify")?;
        get_accumulate(&self.access.parts().core, (origin, result), op, target, disp, counter)
    }
}

impl<'scope, T: Element> Target<'scope, T, Lock> {
    /// As [`Target::put`], and raises counter `counter` of the rank by one when the data are there.
    ///
    /// # Errors
    /// See [`rma_core::notify::Notifying::put`].
    #[inline]
    pub fn put_notify(&self, origin: &'scope [T], disp: usize, counter: u32) -> Result<()> {
        put(self.access(), origin, self.target(), disp, counter)
    }

    /// As [`Target::put_notify`], for one element that needs no buffer.
    ///
    /// # Errors
    /// As [`Target::put_notify`].
    #[inline]
    pub fn put_value_notify(&self, value: T, disp: usize, counter: u32) -> Result<()> {
        put_value(self.access(), value, self.target(), disp, counter)
    }

    /// As [`Target::get`], and raises counter `counter` of the rank by one when the data have been read there.
    ///
    /// # Errors
    /// As [`Target::put_notify`].
    #[inline]
    pub fn get_notify(&self, result: &'scope mut [T], disp: usize, counter: u32) -> Result<()> {
        get(&self.parts().core, result, self.target(), disp, counter)
    }
}

impl<'scope, T: Number> Target<'scope, T, Lock> {
    /// As [`Target::accumulate`], and raises counter `counter` of the rank by one when the data are combined there.
    ///
    /// # Errors
    /// As [`Target::put_notify`]; `MPI_ERR_OP` when `op` is not defined on `T`.
    pub fn accumulate_notify(
        &self,
        origin: &'scope [T],
        op: ReduceOp,
        disp: usize,
        counter: u32,
    ) -> Result<()> {
        accumulate(&self.parts().core, origin, op, self.target(), disp, counter)
    }

    /// As [`Target::get_accumulate`], and raises counter `counter` of the rank by one.
    ///
    /// # Errors
    /// As [`Target::accumulate_notify`]; `MPI_ERR_COUNT` when the lengths differ.
    pub fn get_accumulate_notify(
        &self,
        origin: &'scope [T],
        result: &'scope mut [T],
        op: ReduceOp,
        disp: usize,
        counter: u32,
    ) -> Result<()> {
        get_accumulate(&self.parts().core, (origin, result), op, self.target(), disp, counter)
    }
}

#[inline]
fn put<T: Element>(
    access: &Access<'_, T>,
    origin: &[T],
    target: Rank,
    disp: usize,
    counter: u32,
) -> Result<()> {
    // SAFETY: the callers have the buffer borrowed for the scope, which completes its operations before it ends.
    let origin = unsafe { read_span(origin) };
    let disp = Disp(disp as u64);
    if access.try_put_notify(origin, target, disp, counter) {
        return Ok(());
    }
    access.call(|window| Notifying::of(window, counter).put(origin, target, disp))
}

#[inline]
fn put_value<T: Element>(
    access: &Access<'_, T>,
    value: T,
    target: Rank,
    disp: usize,
    counter: u32,
) -> Result<()> {
    let disp = Disp(disp as u64);
    // SAFETY: what is done now reads the value now.
    let now = unsafe { read_span(std::slice::from_ref(&value)) };
    if access.try_put_notify(now, target, disp, counter) {
        return Ok(());
    }
    let put = |window: &window::Window, origin| Notifying::of(window, counter).put(origin, target, disp);
    access.keep(value, |origin| access.call(|window| put(window, origin)))
}

#[inline]
fn get<T: Element>(core: &Core, result: &mut [T], target: Rank, disp: usize, counter: u32) -> Result<()> {
    // SAFETY: as in `put`; the borrow is exclusive.
    let result = unsafe { write_span(result) };
    core.call(|window| Notifying::of(window, counter).get(result, target, Disp(disp as u64)))
}

fn accumulate<T: Number>(
    core: &Core,
    origin: &[T],
    op: ReduceOp,
    target: Rank,
    disp: usize,
    counter: u32,
) -> Result<()> {
    let (ty, count) = core.call(|_| elements::<T>("accumulate_notify", origin))?;
    let from = Origin { base: origin.as_ptr().cast(), count, ty: &ty };
    let area = TargetArea { disp: Disp(disp as u64), count, ty: &ty };
    // SAFETY: as in `put`; the type covers the bytes of the buffer and no others.
    core.call(|window| unsafe { Notifying::of(window, counter).accumulate(from, op, target, area) })
}

fn get_accumulate<T: Number>(
    core: &Core,
    (origin, result): (&[T], &mut [T]),
    op: ReduceOp,
    target: Rank,
    disp: usize,
    counter: u32,
) -> Result<()> {
    if origin.len() != result.len() {
        let cause = format!("{} elements to combine and room for {}", origin.len(), result.len());
        return core.call(|_| Err(Error::new(ErrorClass::Count, "get_accumulate_notify", cause)));
    }
    let (ty, count) = core.call(|_| elements::<T>("get_accumulate_notify", origin))?;
    let from = Origin { base: origin.as_ptr().cast(), count, ty: &ty };
    let to = Destination { base: result.as_mut_ptr().cast(), count, ty: &ty };
    let area = TargetArea { disp: Disp(disp as u64), count, ty: &ty };
    // SAFETY: as in `accumulate`; a shared borrow and an exclusive one do not overlap.
    core.call(|window| unsafe { Notifying::of(window, counter).get_accumulate(from, to, op, target, area) })
}

/// The elements of a buffer as the engine calls them: so many of a type, which together are its bytes.
fn elements<T: Number>(call: &'static str, buffer: &[T]) -> Result<(Datatype, u64)> {
    let (ty, len) = (Datatype::basic(T::BASIC), size_of_val(buffer) as u64);
    let count = len / T::BASIC.size() as u64;
    if ty.dense_len(count) == Some(len) {
        return Ok((ty, count));
    }
    Err(Error::new(ErrorClass::Count, call, format!("{len} bytes are not whole elements of {}", T::BASIC)))
}
