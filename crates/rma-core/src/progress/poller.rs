//! The poller: where a process sleeps until a channel or another thread wakes it. The only file that names mio.
//!
//! Invariants: the poller never decides anything; whoever wakes looks at the state again. Sources are edge-triggered: a
//! channel drains its source when it polls, and says "busy" when it is armed with something undrained (clause C6).

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

const WAKE: Token = Token(0);
const SOURCE: Token = Token(1);
const EVENTS_AT_ONCE: usize = 64;

/// Sleeps until something happens. One thread at a time waits in it.
pub(crate) struct Poller {
    poll: Poll,
    events: Events,
}

/// What a channel gets to make its sources wake the sleeper. Clones name the same poller.
#[derive(Clone)]
pub struct Registrar {
    registry: Arc<mio::Registry>,
    waker: Arc<Waker>,
}

/// Wakes the sleeper from any thread of this process.
#[derive(Clone)]
pub struct WakeHandle(Arc<Waker>);

impl Poller {
    pub(crate) fn new() -> io::Result<(Self, Registrar)> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
        let registry = Arc::new(poll.registry().try_clone()?);
        Ok((Self { poll, events: Events::with_capacity(EVENTS_AT_ONCE) }, Registrar { registry, waker }))
    }

    /// Sleeps until a source or a wake handle fires, or the time is over. An interrupted sleep is a wake-up.
    pub(crate) fn sleep(&mut self, limit: Option<Duration>) -> io::Result<()> {
        match self.poll.poll(&mut self.events, limit) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            other => other,
        }
    }
}

impl Registrar {
    /// Adds a descriptor that wakes the sleeper when it becomes readable (edge-triggered). A descriptor of an epoll
    /// instance works too, so a channel with many sockets registers one of its own. Closing the descriptor removes it.
    ///
    /// # Errors
    /// When the system refuses, for example because the descriptor cannot be waited on.
    pub fn add_readable(&self, source: BorrowedFd<'_>) -> io::Result<()> {
        self.registry.register(&mut SourceFd(&source.as_raw_fd()), SOURCE, Interest::READABLE)
    }

    /// Removes a descriptor that is to stay open.
    ///
    /// # Errors
    /// When it was not registered.
    pub fn remove(&self, source: BorrowedFd<'_>) -> io::Result<()> {
        self.registry.deregister(&mut SourceFd(&source.as_raw_fd()))
    }

    /// A handle for other threads of this process.
    pub fn wake_handle(&self) -> WakeHandle {
        WakeHandle(Arc::clone(&self.waker))
    }
}

impl WakeHandle {
    /// Wakes the sleeper, or keeps the next one from sleeping.
    pub fn wake(&self) {
        // A waker fails only when its descriptor is gone, and then nobody sleeps on it.
        let _ = self.0.wake();
    }
}

impl fmt::Debug for Registrar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Registrar")
    }
}

impl fmt::Debug for WakeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WakeHandle")
    }
}
