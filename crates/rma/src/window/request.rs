//! Operations under way that can be waited for by themselves, before their epoch ends (MPI 3.1 §11.3.5), by calls or as futures.
//!
//! A request has its buffer, and gives it back when the operation has ended. A borrow that ended there would not do: a request
//! that is forgotten would end it too early. So the buffer is owned, or borrowed for the whole scope. That of a forgotten request
//! is never released, that of a dropped one at the end of the scope.

use super::buffer::{Buffer, Leftovers};
use super::operations::WindowParts;
use crate::wakers::{Ends, Watch};
use rma_core::Result;
use rma_core::window::OperationRequest;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// An operation under way, with its buffer.
///
/// It is a future as well, which any executor can drive: the task sleeps until the operation has ended, and is woken by the library,
/// which moves the operation meanwhile. Nothing has to be called for that, and no executor is depended on.
///
/// ```
/// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Poll, Wake, Waker}, thread::Thread};
/// # struct Unpark(Thread);
/// # impl Wake for Unpark {
/// #     fn wake(self: Arc<Self>) { self.0.unpark() }
/// # }
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let (mut future, waker) = (pin!(future), Waker::from(Arc::new(Unpark(std::thread::current()))));
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) { return value }
/// #         std::thread::park();
/// #     }
/// # }
/// rma::World::run_threads(4, |world| {
///     let mut window = world.allocate::<u32>(1)?;
///     window.local().set(0, world.rank());
///     world.barrier()?;
///     let (left, right) = ((world.rank() + 3) % 4, (world.rank() + 1) % 4);
///     window.lock_all(|all| {
///         let sum = async {
///             // Both are under way before the first is awaited.
///             let (a, b) = (all.rank(left)?.rget(vec![0], 0)?, all.rank(right)?.rget(vec![0], 0)?);
///             Ok::<_, rma::Error>(a.await?[0] + b.await?[0])
///         };
///         assert_eq!(block_on(sum)?, left + right);
///         Ok(())
///     })?;
///     window.free()
/// })
/// .unwrap();
/// ```
///
/// Dropping it does not wait: the operation ends with its epoch.
#[must_use = "the request has the operation's buffer"]
pub struct Request<'scope, T, B: Buffer<T> = Vec<T>> {
    operation: OperationRequest,
    parts: &'scope WindowParts<T>,
    /// There until it is given back.
    buffer: Option<B::Kept>,
    watch: Watch,
}

/// Nothing of it is pinned.
impl<T, B: Buffer<T>> Unpin for Request<'_, T, B> {}

impl<'scope, T, B: Buffer<T>> Request<'scope, T, B> {
    pub(super) fn new(operation: OperationRequest, parts: &'scope WindowParts<T>, buffer: B::Kept) -> Self {
        Self { operation, parts, buffer: Some(buffer), watch: Watch::default() }
    }

    /// Whether the operation has ended; moves the engine a step.
    ///
    /// # Errors
    /// See [`rma_core::window::OperationRequest::is_complete`].
    pub fn test(&self) -> Result<bool> {
        self.parts.core.call(|_| self.operation.test())
    }

    /// Waits for the end of the operation, and gives the buffer back: a result is in it, an origin may be written again.
    ///
    /// # Errors
    /// As [`Request::test`].
    pub fn wait(mut self) -> Result<B> {
        self.parts.core.call(|_| self.operation.wait())?;
        Ok(self.take())
    }

    /// Waits for the end of all operations, and gives the buffers back in the same order.
    ///
    /// # Errors
    /// The first error; the other requests are dropped then.
    pub fn wait_all(requests: impl IntoIterator<Item = Self>) -> Result<Vec<B>> {
        requests.into_iter().map(Self::wait).collect()
    }

    /// Waits for the end of one of the operations, takes its request out of the list, and answers where that was and what came of it;
    /// `None` when the list is empty (`MPI_Waitany`).
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.local().set(0, 10 * u64::from(world.rank()));
    ///     world.barrier()?;
    ///     let mut sum = 0;
    ///     window.lock_all(|all| {
    ///         let requests = (0..4).map(|rank| all.rank(rank)?.rget(vec![0], 0));
    ///         let mut requests = requests.collect::<Result<Vec<_>, rma::Error>>()?;
    ///         // In the order in which they come.
    ///         while let Some((_, values)) = rma::window::Request::wait_any(&mut requests) {
    ///             sum += values?[0];
    ///         }
    ///         Ok(())
    ///     })?;
    ///     assert_eq!(sum, 60);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    pub fn wait_any(requests: &mut Vec<Self>) -> Option<(usize, Result<B>)> {
        let operations: Vec<_> = requests.iter().map(|request| &request.operation).collect();
        let at = requests.first()?.parts.wakers.wait_any(&operations);
        Some((at, requests.remove(at).wait()))
    }

    /// As [`Request::wait_any`], without waiting: moves the engine a step, and answers `None` when no operation has ended
    /// (`MPI_Testany`).
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     let (mut sum, mut looks) = (0, 0u64);
    ///     window.local().set(0, 1);
    ///     world.barrier()?;
    ///     window.lock_all(|all| {
    ///         let requests = (0..4).map(|rank| all.rank(rank)?.rget(vec![0], 0));
    ///         let mut requests = requests.collect::<Result<Vec<_>, rma::Error>>()?;
    ///         while !requests.is_empty() {
    ///             // Something else is done between two looks.
    ///             looks += 1;
    ///             if let Some((_, values)) = rma::window::Request::test_any(&mut requests) {
    ///                 sum += values?[0];
    ///             }
    ///         }
    ///         Ok(())
    ///     })?;
    ///     assert!(sum == 4 && looks >= 4);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    pub fn test_any(requests: &mut Vec<Self>) -> Option<(usize, Result<B>)> {
        let has_ended = |request: &Self| request.operation.has_ended();
        let at = requests.iter().position(has_ended).or_else(|| {
            // One step moves all of them, and an error of this one is found below.
            let _ = requests.first()?.operation.test();
            requests.iter().position(has_ended)
        })?;
        Some((at, requests.remove(at).wait()))
    }

    /// The buffer of an operation that has ended.
    fn take(&mut self) -> B {
        self.watch.clear();
        let buffer = self.buffer.take().expect("a request gives its buffer back once");
        // SAFETY: the callers have seen the end.
        unsafe { B::give_back(buffer) }
    }
}

impl<T, B: Buffer<T>> Future for Request<'_, T, B> {
    type Output = Result<B>;

    /// # Panics
    /// When it is polled after it was ready.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if this.test()? {
            return Poll::Ready(Ok(this.take()));
        }
        this.watch.set(&this.parts.wakers, context.waker(), || this.operation.clone())?;
        // It may have ended before the waker was there.
        if this.parts.core.call(|_| this.operation.is_complete())? {
            return Poll::Ready(Ok(this.take()));
        }
        Poll::Pending
    }
}

impl<T, B: Buffer<T>> Drop for Request<'_, T, B> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take()
            && !self.operation.has_ended()
        {
            B::leave(buffer, &Leftovers(&self.parts.values));
        }
    }
}

impl<T, B: Buffer<T>> fmt::Debug for Request<'_, T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("operation", &self.operation).finish_non_exhaustive()
    }
}
