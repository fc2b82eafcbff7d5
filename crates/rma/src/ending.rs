//! The future of a message or a collective: what it is asked for, and its end once it is there.
//!
//! Invariants: the end is taken once, by the task or by the thread that wakes it, and kept for the task; a future that is
//! dropped drops the request, as if that had been dropped itself. Lock order: the engine, the table of wakers, a place here, messages.

use crate::wakers::{Ends, Wakers, Watch};
use parking_lot::Mutex;
use rma_core::host::{Awaited, Need};
use rma_core::{Engine, Result};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What the futures of this crate's requests are: any executor can drive it.
pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A future that ends with what a request answers.
pub(crate) struct Ending<E> {
    /// Dropped first: the thread that wakes never has the last of the rest then.
    watch: Watch,
    engine: Engine,
    wakers: Arc<Wakers>,
    place: Arc<Mutex<PendingEnd<E>>>,
}

/// The request, until it has ended, and its end.
struct PendingEnd<E> {
    look: Box<dyn FnMut() -> Option<E> + Send>,
    describe: Box<dyn Fn() -> Awaited + Send>,
    end: Option<E>,
}

impl<E> Ending<E> {
    /// Of a request that `look` asks how it has ended, moving nothing. Once it has answered, it answers `None`.
    pub(crate) fn new(
        engine: &Engine,
        wakers: &Arc<Wakers>,
        describe: impl Fn() -> Awaited + Send + 'static,
        look: impl FnMut() -> Option<E> + Send + 'static,
    ) -> Self {
        let place = PendingEnd { look: Box::new(look), describe: Box::new(describe), end: None };
        let (engine, wakers) = (engine.clone(), Arc::clone(wakers));
        Self { engine, wakers, place: Arc::new(Mutex::new(place)), watch: Watch::default() }
    }

    fn take(&mut self) -> Option<E> {
        let mut place = self.place.lock();
        place.look();
        let end = place.end.take()?;
        drop(place);
        self.watch.clear();
        Some(end)
    }
}

impl<E> PendingEnd<E> {
    fn look(&mut self) -> bool {
        if self.end.is_none() {
            self.end = (self.look)();
        }
        self.end.is_some()
    }
}

impl<E: Send> Ends for Arc<Mutex<PendingEnd<E>>> {
    fn has_ended(&self) -> bool {
        self.lock().look()
    }

    fn needs(&self) -> Vec<Need> {
        (self.lock().describe)().needs
    }
}

impl<E: Send + 'static> Future for Ending<E> {
    type Output = Result<E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.engine.poll();
        if let Some(end) = this.take() {
            return Poll::Ready(Ok(end));
        }
        this.watch.set(&this.wakers, context.waker(), || Arc::clone(&this.place))?;
        // It may have ended before the waker was there.
        match this.take() {
            Some(end) => Poll::Ready(Ok(end)),
            None => Poll::Pending,
        }
    }
}

impl<E> fmt::Debug for Ending<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ending").finish_non_exhaustive()
    }
}
