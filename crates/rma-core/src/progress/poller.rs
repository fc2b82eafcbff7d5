//! The poller: where a process sleeps until a channel or another thread wakes it. The only file that names mio.
//!
//! Invariants: the poller never decides anything; whoever wakes looks at the state again. Sources are edge-triggered: a
//! channel drains its source when it polls, and says "busy" when it is armed with something undrained (clause C6).
//!
//! Its descriptors are made when they are needed first, by a source or by a sleep: a simulation has 10⁵ engines in one
//! process that never sleep. A wake-up that comes before is kept:
//!
//! ```text
//!    wakes                                    sleeps first
//!    no descriptors yet                       makes the descriptors
//!    note that somebody was woken             (SYNC POINT W2)
//!    look for the descriptors again           take the note: the descriptors say it now
//! ```

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, fence};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const WAKE: Token = Token(0);
const SOURCE: Token = Token(1);
const EVENTS_AT_ONCE: usize = 64;

/// Sleeps until something happens. One thread at a time waits in it.
pub(crate) struct Poller {
    shared: Arc<Shared>,
    events: Option<Events>,
}

/// What a channel gets to make its sources wake the sleeper. Clones name the same poller.
#[derive(Clone)]
pub struct Registrar(Arc<Shared>);

/// Wakes the sleeper from any thread of this process.
#[derive(Clone)]
pub struct WakeHandle(Arc<Shared>);

#[derive(Default)]
struct Shared {
    system: OnceLock<System>,
    /// Held while the descriptors are made.
    making: Mutex<()>,
    /// Somebody was woken before there were descriptors.
    was_woken: AtomicBool,
}

/// What the operating system has made.
struct System {
    registry: Registry,
    waker: Waker,
    /// Locked by the one sleeper.
    poll: Mutex<Poll>,
}

impl Poller {
    pub(crate) fn new() -> (Self, Registrar) {
        let shared = Arc::<Shared>::default();
        (Self { shared: Arc::clone(&shared), events: None }, Registrar(shared))
    }

    /// Sleeps until a source or a wake handle fires, or the time is over. An interrupted sleep is a wake-up.
    pub(crate) fn sleep(&mut self, limit: Option<Duration>) -> io::Result<()> {
        let system = self.shared.system()?;
        let events = self.events.get_or_insert_with(|| Events::with_capacity(EVENTS_AT_ONCE));
        match system.poll.lock().poll(events, limit) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            other => other,
        }
    }
}

impl Shared {
    /// The descriptors, made now if nobody has needed them before.
    fn system(&self) -> io::Result<&System> {
        if let Some(system) = self.system.get() {
            return Ok(system);
        }
        let _making = self.making.lock();
        if let Some(system) = self.system.get() {
            return Ok(system);
        }
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let registry = poll.registry().try_clone()?;
        let system = self.system.get_or_init(|| System { registry, waker, poll: Mutex::new(poll) });
        // SYNC POINT W2: the descriptors are there before the note is looked for; see `WakeHandle::wake`.
        fence(SeqCst);
        if self.was_woken.swap(false, Relaxed) {
            system.waker.wake()?;
        }
        Ok(system)
    }
}

impl Registrar {
    /// Adds a descriptor that wakes the sleeper when it becomes readable (edge-triggered). A descriptor of an epoll
    /// instance works too, so a channel with many sockets registers one of its own. Closing the descriptor removes it.
    ///
    /// # Errors
    /// When the system refuses, for example because the descriptor cannot be waited on.
    pub fn add_readable(&self, source: BorrowedFd<'_>) -> io::Result<()> {
        self.0.system()?.registry.register(&mut SourceFd(&source.as_raw_fd()), SOURCE, Interest::READABLE)
    }

    /// Removes a descriptor that is to stay open.
    ///
    /// # Errors
    /// When it was not registered.
    pub fn remove(&self, source: BorrowedFd<'_>) -> io::Result<()> {
        self.0.system()?.registry.deregister(&mut SourceFd(&source.as_raw_fd()))
    }

    /// What becomes readable when a source or a wake handle fires.
    ///
    /// # Errors
    /// When the process cannot have another descriptor.
    pub(crate) fn descriptor(&self) -> io::Result<BorrowedFd<'_>> {
        Ok(self.0.system()?.registry.as_fd())
    }

    /// A handle for other threads of this process.
    pub fn wake_handle(&self) -> WakeHandle {
        WakeHandle(Arc::clone(&self.0))
    }
}

impl WakeHandle {
    /// Wakes the sleeper, or keeps the next one from sleeping.
    pub fn wake(&self) {
        // A waker fails only when its descriptor is gone, and then nobody sleeps on it.
        if let Some(system) = self.0.system.get() {
            let _ = system.waker.wake();
            return;
        }
        self.0.was_woken.store(true, Relaxed);
        // SYNC POINT W2: the note stands before the second look. Of the two fences one comes first, so either whoever
        // makes the descriptors finds the note, or they are found here.
        fence(SeqCst);
        if let Some(system) = self.0.system.get() {
            let _ = system.waker.wake();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_before_the_first_sleep_is_kept_and_counts_once() {
        let (mut poller, registrar) = Poller::new();
        assert!(registrar.0.system.get().is_none(), "no descriptors before they are needed");
        registrar.wake_handle().wake();
        poller.sleep(None).unwrap();
        registrar.wake_handle().wake();
        poller.sleep(None).unwrap();
        poller.sleep(Some(Duration::from_millis(1))).unwrap();
    }

    #[test]
    fn a_wake_up_from_another_thread_reaches_whoever_sleeps_first() {
        for _ in 0..200 {
            let (mut poller, registrar) = Poller::new();
            let handle = registrar.wake_handle();
            std::thread::scope(|scope| {
                scope.spawn(move || handle.wake());
                poller.sleep(None).unwrap();
            });
        }
    }
}
