//! This rank's own counters: how many it has, what they are at, and waits for them.
//!
//! A counter says only that operations have ended here. So reading what they stored goes through a [`View`](super::View), as all
//! reading of memory that others reach. What raises counters is in `notified.rs`.

use super::builder::WindowBuilder;
use super::core::Core;
use super::epoch::Epoch;
use super::lock::Lock;
use super::lock_all::AllLocked;
use super::rank::IntoRank;
use super::target::Target;
use super::typed::Window;
use crate::elements::Element;
use crate::wakers::{Wakers, Watch};
use rma_core::notify::{self, NotificationRequest, Notifications};
use rma_core::{Error, Result};
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
        let request = Arc::new(core.call(|window| NotificationRequest::new(window, counter, number))?);
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
    /// Makes room for so many counters on this rank, at most 2^20, of which [`Window::set_notifications`] puts some into use; 16
    /// unless told.
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
    /// See [`rma_core::notify::set_counters`].
    pub fn set_notifications(&self, counters: u32) -> Result<()> {
        self.parts().core.call(|window| notify::set_counters(window, counters))
    }

    /// This rank's counters. Within an epoch they are those of its handle.
    pub fn notifications(&self) -> Notifications<'_> {
        Notifications::of(self.parts().core.plain())
    }

    /// How many counters a rank has in use.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`.
    pub fn notifications_of(&self, rank: impl IntoRank) -> Result<u32> {
        self.parts().core.call(|window| notify::counters_of(window, rank.into_rank("notifications_of")?))
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
        Notifications::of(self.access.plain())
    }

    /// As [`Window::notified`].
    ///
    /// # Errors
    /// As [`Window::notified`].
    pub fn notified(&self, counter: u32, number: u64) -> Result<Notified<'scope>> {
        let parts = self.access.parts();
        Notified::new(&parts.core, &parts.wakers, counter, number)
    }
}

impl<'scope, T: Element> Target<'scope, T, Lock> {
    /// This rank's counters, not those of the one that is locked.
    ///
    /// ```
    /// rma::World::run_threads(8, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.set_notifications(1)?;
    ///     let (left, right) = ((world.rank() + 7) % 8, (world.rank() + 1) % 8);
    ///     window.shared(right, |locked| {
    ///         locked.put_value_notify(u64::from(world.rank()), 0, 0)?;
    ///         locked.notifications().wait(0, 1)?;
    ///         assert_eq!(locked.local().get(0), u64::from(left));
    ///         Ok(())
    ///     })?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    pub fn notifications(&self) -> Notifications<'scope> {
        Notifications::of(self.access().plain())
    }

    /// As [`Window::notified`].
    ///
    /// # Errors
    /// As [`Window::notified`].
    pub fn notified(&self, counter: u32, number: u64) -> Result<Notified<'scope>> {
        Notified::new(&self.parts().core, &self.parts().wakers, counter, number)
    }
}
