//! The poller: where a process sleeps until a channel or another thread wakes it. The only file that names
//! mio. Sleepers elsewhere have a second one with the same sources ([`super::external`]).
//!
//! Invariants: the poller never decides anything; a woken thread looks at the state again. Sources are
//! edge-triggered: a channel drains its source when it polls, and says "busy" when it is armed with something
//! undrained (clause C6).
//!
//! Its descriptors are made at the first need, by a source or by a sleep: a simulation has 10⁵ engines in one
//! process that never sleep. A wake-up that comes before is kept:
//!
//! ```text
//!    wakes                                    sleeps first
//!    no descriptors yet                       makes the descriptors
//!    note the wake-up                         (SYNC POINT W2)
//!    look for the descriptors again           take the note: the descriptors say it now
//! ```

use super::ExternalPoller;
use crate::descriptors::with_streams_taken;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const WAKE: Token = Token(0);
const SOURCE: Token = Token(1);
const EVENTS_AT_ONCE: usize = 64;

/// Sleeps until something happens. One thread at a time waits in it.
pub(crate) struct Poller {
    shared: Arc<PollerParts>,
}

/// What a channel gets to make its sources wake the sleeper. Clones name the same poller.
#[derive(Clone)]
pub struct Registrar(Arc<PollerParts>);

/// Wakes the sleeper from any thread of this process.
#[derive(Clone)]
pub struct WakeHandle(Arc<PollerParts>);

#[derive(Default)]
struct PollerParts {
    system: OnceLock<System>,
    /// Held while the descriptors are made.
    making: Mutex<()>,
    /// A wake-up came before there were descriptors.
    was_woken: AtomicBool,
    /// How often a wake handle was used: what sleepers compare, so that one that has not lain down yet does not.
    wakes: AtomicU64,
    /// What is watched, here and external.
    sources: Mutex<Vec<RawFd>>,
    external: ExternalPoller,
}

/// What the operating system has made.
pub(super) struct System {
    registry: Registry,
    waker: Waker,
    /// Locked by the one sleeper.
    poll: Mutex<(Poll, Events)>,
}

impl System {
    pub(super) fn new() -> io::Result<Self> {
        let (poll, waker, registry) = with_streams_taken(|| {
            let poll = Poll::new()?;
            let waker = Waker::new(poll.registry(), WAKE)?;
            let registry = poll.registry().try_clone()?;
            Ok((poll, waker, registry))
        })?;
        Ok(Self { registry, waker, poll: Mutex::new((poll, Events::with_capacity(EVENTS_AT_ONCE))) })
    }

    pub(super) fn add(&self, source: RawFd) -> io::Result<()> {
        self.registry.register(&mut SourceFd(&source), SOURCE, Interest::READABLE)
    }

    pub(super) fn wake(&self) {
        // A waker fails only when its descriptor is gone, and then no thread sleeps on it.
        let _ = self.waker.wake();
    }

    /// Sleeps, and takes out what is ready. An interrupted sleep is a wake-up.
    pub(super) fn sleep(&self, limit: Option<Duration>) -> io::Result<()> {
        let (poll, events) = &mut *self.poll.lock();
        match poll.poll(events, limit) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            other => other,
        }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.registry.as_fd()
    }
}

impl Poller {
    pub(crate) fn new() -> (Self, Registrar) {
        let shared = Arc::<PollerParts>::default();
        (Self { shared: Arc::clone(&shared) }, Registrar(shared))
    }

    /// Sleeps until a source or a wake handle fires, or the time is over. An interrupted sleep is a wake-up.
    pub(crate) fn sleep(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.shared.system()?.sleep(limit)
    }
}

impl PollerParts {
    /// The descriptors, made now if they were not needed before.
    fn system(&self) -> io::Result<&System> {
        if let Some(system) = self.system.get() {
            return Ok(system);
        }
        let _making = self.making.lock();
        if let Some(system) = self.system.get() {
            return Ok(system);
        }
        let system = System::new()?;
        let system = self.system.get_or_init(|| system);
        // SYNC POINT W2: the descriptors are there before the note is looked for; see `WakeHandle::wake`.
        fence(SeqCst);
        if self.was_woken.swap(false, Relaxed) {
            system.wake();
        }
        Ok(system)
    }

    /// Wakes the thread that sleeps in the poller, or keeps the next one from sleeping.
    fn wake_poller(&self) {
        if let Some(system) = self.system.get() {
            return system.wake();
        }
        self.was_woken.store(true, Relaxed);
        // SYNC POINT W2: the note stands before the second look. Of the two fences one comes first, so either
        // the thread that makes the descriptors finds the note, or they are found here.
        fence(SeqCst);
        if let Some(system) = self.system.get() {
            system.wake();
        }
    }
}

impl Registrar {
    /// Adds a descriptor that wakes the sleeper when it becomes readable (edge-triggered). A descriptor of an epoll
    /// instance works too, so a channel with many sockets registers one of its own. Closing the descriptor removes it; when
    /// its number is used for something else afterwards, that may wake a sleeper for nothing.
    ///
    /// # Errors
    /// When the system refuses, for example because the descriptor cannot be waited on.
    pub fn add_readable(&self, source: BorrowedFd<'_>) -> io::Result<()> {
        let source = source.as_raw_fd();
        let mut sources = self.0.sources.lock();
        self.0.system()?.add(source)?;
        if let Some(external) = self.0.external.existing() {
            external.add(source)?;
        }
        sources.retain(|watched| *watched != source);
        sources.push(source);
        Ok(())
    }

    /// Removes a descriptor that is to stay open.
    ///
    /// # Errors
    /// When it was not registered.
    pub fn remove(&self, source: BorrowedFd<'_>) -> io::Result<()> {
        let mut sources = self.0.sources.lock();
        sources.retain(|watched| *watched != source.as_raw_fd());
        if let Some(external) = self.0.external.existing() {
            external.registry.deregister(&mut SourceFd(&source.as_raw_fd()))?;
        }
        self.0.system()?.registry.deregister(&mut SourceFd(&source.as_raw_fd()))
    }

    /// What becomes readable for external waits, when a source or a wake handle fires.
    ///
    /// # Errors
    /// When the process cannot have another descriptor.
    pub(crate) fn descriptor(&self) -> io::Result<BorrowedFd<'_>> {
        self.0.external.descriptor(&self.0.sources.lock())
    }

    /// How often wake handles have been used.
    pub(crate) fn wakes(&self) -> u64 {
        self.0.wakes.load(SeqCst)
    }

    /// The sleepers external.
    pub(crate) fn external(&self) -> &ExternalPoller {
        &self.0.external
    }

    /// Wakes the thread that sleeps in the poller, and no other.
    pub(crate) fn wake_poller(&self) {
        self.0.wake_poller();
    }

    /// A handle for other threads of this process.
    pub fn wake_handle(&self) -> WakeHandle {
        WakeHandle(Arc::clone(&self.0))
    }
}

impl WakeHandle {
    /// Wakes the sleepers, or keeps the next one from sleeping.
    pub fn wake(&self) {
        self.0.wakes.fetch_add(1, SeqCst);
        self.0.wake_poller();
        self.0.external.wake();
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
    fn a_wake_up_from_another_thread_reaches_the_first_sleeper() {
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
