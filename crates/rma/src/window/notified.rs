//! Stores that tell their target: operations that raise a counter of it, and this rank's own counters.
//!
//! A counter says only that operations have ended here. So reading what they stored goes through a [`View`](super::View), as all
//! reading of memory that others reach.

use super::builder::WindowBuilder;
use super::core::Core;
use super::element::{Element, Number, read_span, write_span};
use super::epoch::Epoch;
use super::lock::Lock;
use super::lock_all::AllLocked;
use super::operations::Access;
use super::rank::IntoRank;
use super::target::Target;
use super::typed::Window;
use crate::wakers::{Wakers, Watch};
use rma_core::datatype::Datatype;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::notify::{NotificationRequest, Notifications};
use rma_core::window::{self, Destination, Origin, TargetArea};
use rma_core::{Error, ErrorClass, Result};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// That a counter of this rank comes to a number: to wait for beside other requests, or in a task of any executor.
#[must_use = "nothing waits for the counter"]
#[derive(Debug)]
pub struct Notified<'w> {
    /// Dropped first: the thread that wakes never has the last of the rest then.
    watch: Watch,
    request: Arc<NotificationRequest>,
    wakers: Arc<Wakers>,
    window: PhantomData<&'w ()>,
}

impl Notified<'_> {
    fn new(core: &Core, wakers: &Arc<Wakers>, counter: u32, number: u64) -> Result<Self> {
        let request = Arc::new(core.call(|window| window.notification_request(counter, number))?);
        Ok(Self { request, wakers: Arc::clone(wakers), watch: Watch::default(), window: PhantomData })
    }

    /// Whether the counter has come so far; moves the engine a step.
    ///
    /// # Errors
    /// As [`Notifications::wait`].
    pub fn test(&self) -> Result<bool> {
        self.request.test()
    }

    /// Waits until the counter has come so far.
    ///
    /// # Errors
    /// As [`Notifications::wait`].
    pub fn wait(self) -> Result<()> {
        self.request.wait()
    }
}

impl Future for Notified<'_> {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        if this.request.test()? {
            this.watch.clear();
            return Poll::Ready(Ok(()));
        }
        this.watch.set(&this.wakers, context.waker(), || Arc::clone(&this.request))?;
        // It may have come so far before the waker was there.
        if this.request.is_complete()? {
            this.watch.clear();
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }
}

impl<T: Element, E: From<Error>> WindowBuilder<'_, T, E> {
    /// Makes room for so many counters on this rank, of which [`Window::set_notifications`] puts some into use; 16 unless told.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let window = world.window::<u64>().len(1).room_for_notifications(1000).allocate()?;
    ///     // Each rank has as many as it wants.
    ///     window.set_notifications(250 * (world.rank() + 1))?;
    ///     assert_eq!((window.notifications_of(0)?, window.notifications_of(3)?), (250, 1000));
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    #[must_use]
    pub fn room_for_notifications(self, counters: u32) -> Self {
        self.hint("mpi_assert_max_num_notify", &counters.to_string())
    }

    /// A notice covers all earlier operations of its origin on the same target, not only its own.
    #[must_use]
    pub fn notifications_in_order(self) -> Self {
        self.hint("mpix_notify_ordered", "true")
    }
}

impl<T: Element, E> Window<'_, T, E> {
    /// Sets how many counters this rank has in use, all of them to zero; collective, and each rank gives a number of its own.
    ///
    /// A pipeline in which each rank adds to what comes, and passes it on. No rank but the first does anything before its part is there:
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.set_notifications(1)?;
    ///     let (me, last) = (world.rank(), world.size() - 1);
    ///     let (mut sum, mut result) = ([0], 0);
    ///     window.lock_all(|all| {
    ///         if me > 0 {
    ///             all.notifications().wait(0, 1)?;
    ///         }
    ///         result = all.local().get(0) + u64::from(me);
    ///         Ok(())
    ///     })?;
    ///     sum[0] = result;
    ///     window.lock_all(|all| all.put_notify(&sum, (me < last).then(|| me + 1), 0, 0))?;
    ///     if me == last {
    ///         assert_eq!(result, 6);
    ///     }
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`rma_core::window::Window::set_counters`].
    pub fn set_notifications(&self, counters: u32) -> Result<()> {
        self.parts().core.call(|window| window.set_counters(counters))
    }

    /// This rank's counters. Within an epoch they are those of its handle.
    pub fn notifications(&self) -> Notifications<'_> {
        self.parts().core.plain().notifications()
    }

    /// How many counters a rank has in use.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`.
    pub fn notifications_of(&self, rank: impl IntoRank) -> Result<u32> {
        self.parts().core.call(|window| window.counters_of(rank.into_rank("notifications_of")?))
    }

    /// That counter `counter` of this rank comes to `number`, as a request and a future.
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.set_notifications(2)?;
    ///     let left = (world.rank() + 3) % 4;
    ///     window.shared(left, |locked| locked.put_value_notify(5, 0, 1))?;
    ///     let notified = window.notified(1, 1)?;
    ///     while !notified.test()? {}
    ///     assert_eq!((window.local().get(0), window.notifications().value(1)?), (5, 1));
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// `MPIX_ERR_RMA_NOTIFICATION` when there is no such counter.
    pub fn notified(&self, counter: u32, number: u64) -> Result<Notified<'_>> {
        Notified::new(&self.parts().core, &self.parts().wakers, counter, number)
    }
}

impl<'scope, T: Element> Epoch<'scope, T, AllLocked> {
    /// This rank's counters: what they are at, and waits for them.
    ///
    /// Seven ranks report to rank 0, which takes the reports as they come:
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<u64>(8)?;
    ///     window.set_notifications(8)?;
    ///     let me = world.rank();
    ///     let report = [u64::from(me) + 100];
    ///     window.lock_all(|all| {
    ///         if me > 0 {
    ///             return all.put_notify(&report, 0, me as usize, me);
    ///         }
    ///         let own = all.notifications();
    ///         for _ in 1..8 {
    ///             let from = own.wait_any(1..8, 1, Some(Duration::from_secs(30)))?.expect("a report in time");
    ///             assert_eq!(own.take(from)?, 1);
    ///             assert_eq!(all.local().get(from as usize), u64::from(from) + 100);
    ///         }
    ///         Ok(())
    ///     })?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    pub fn notifications(&self) -> Notifications<'scope> {
        self.access.plain().notifications()
    }

    /// As [`Window::notified`].
    ///
    /// # Errors
    /// As [`Window::notified`].
    pub fn notified(&self, counter: u32, number: u64) -> Result<Notified<'scope>> {
        let parts = self.access.parts();
        Notified::new(&parts.core, &parts.wakers, counter, number)
    }

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
        put(&self.access.parts().core, origin, self.access.rank(target, "put_notify")?, disp, counter)
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
        put(&self.parts().core, origin, self.target(), disp, counter)
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
fn put<T: Element>(core: &Core, origin: &[T], target: Rank, disp: usize, counter: u32) -> Result<()> {
    // SAFETY: the callers have the buffer borrowed for the scope, which completes its operations before it ends.
    let origin = unsafe { read_span(origin) };
    core.call(|window| window.notifying(counter).put(origin, target, Disp(disp as u64)))
}

#[inline]
fn put_value<T: Element>(
    access: &Access<'_, T>,
    value: T,
    target: Rank,
    disp: usize,
    counter: u32,
) -> Result<()> {
    let put =
        |window: &window::Window, origin| window.notifying(counter).put(origin, target, Disp(disp as u64));
    access.keep(value, |origin| access.call(|window| put(window, origin)))
}

#[inline]
fn get<T: Element>(core: &Core, result: &mut [T], target: Rank, disp: usize, counter: u32) -> Result<()> {
    // SAFETY: as in `put`; the borrow is exclusive.
    let result = unsafe { write_span(result) };
    core.call(|window| window.notifying(counter).get(result, target, Disp(disp as u64)))
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
    core.call(|window| unsafe { window.notifying(counter).accumulate(from, op, target, area) })
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
    core.call(|window| unsafe { window.notifying(counter).get_accumulate(from, to, op, target, area) })
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
