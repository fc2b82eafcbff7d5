//! External waits, which are not the engine's own: a second poller, whose descriptor a library around the engine waits on.
//!
//! It watches the same sources as [`super::internal`], which are edge-triggered there and here, so a sleep in
//! the engine takes nothing away from external waits. These share one descriptor. What makes it readable is
//! taken out of it, for it would stay readable for ever, but only when every external wait that began before
//! the last wake-up is over:
//!
//! ``text
//!    the waking thread        an external wait that ends
//!    count the wake-up        did another begin before the last wake-up? leave the descriptor readable
//!    make it readable         take out what is ready
//!                             did another begin before the last wake-up? make it readable again
//! ``
//!
//! Invariants: a wait that began before the last wake-up finds the descriptor readable until it ends; one that
//! began after it may be woken for nothing, at most until then. The descriptors are made with the first wait,
//! or when they are asked for.

use super::internal::System;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU32, AtomicU64, fence};
use std::time::Duration;

/// The external waits, and what ends them.
#[derive(Default)]
pub(crate) struct ExternalPoller {
    system: OnceLock<System>,
    /// How many wake-ups there had been when each of them began.
    sleepers: Mutex<SmallVec<[u64; 4]>>,
    /// Length of the above, to learn without the lock whether there are sleepers.
    count: AtomicU32,
    wakes: AtomicU64,
}

impl ExternalPoller {
    /// The descriptors, made now if they were not needed before; `sources` is what they watch then. The
    /// caller holds the list of sources locked.
    pub(super) fn system(&self, sources: &[RawFd]) -> io::Result<&System> {
        if let Some(system) = self.system.get() {
            return Ok(system);
        }
        let system = System::new()?;
        for source in sources {
            // A source that was closed and not removed wakes no thread.
            let _ = system.add(*source);
        }
        let system = self.system.get_or_init(|| system);
        // SYNC POINT W2: the descriptors are there before the sleeper looks for what it waits for; see `ExternalPoller::wake`.
        fence(SeqCst);
        Ok(system)
    }

    /// The descriptors, if they have been made.
    pub(super) fn existing(&self) -> Option<&System> {
        self.system.get()
    }

    pub(crate) fn descriptor(&self, sources: &[RawFd]) -> io::Result<BorrowedFd<'_>> {
        Ok(self.system(sources)?.descriptor())
    }

    /// Whether a thread sleeps here.
    pub(crate) fn has_sleepers(&self) -> bool {
        self.count.load(SeqCst) > 0
    }

    /// Wakes all threads that sleep here, or keeps the next one from sleeping.
    pub(crate) fn wake(&self) {
        // SYNC POINT W2: what the wake-up is for was written before this look.
        fence(SeqCst);
        if let Some(system) = self.system.get() {
            self.wakes.fetch_add(1, SeqCst);
            system.wake();
        }
    }

    /// Counts a wait, and gives the argument of its [`ExternalPoller::end_sleep`].
    pub(crate) fn begin_sleep(&self) -> u64 {
        let mut sleepers = self.sleepers.lock();
        self.count.fetch_add(1, SeqCst);
        let wakes = self.wakes.load(SeqCst);
        sleepers.push(wakes);
        wakes
    }

    /// Ends a wait that began after so many wake-ups.
    pub(crate) fn end_sleep(&self, wakes: u64) {
        let mut sleepers = self.sleepers.lock();
        if let Some(at) = sleepers.iter().position(|seen| *seen == wakes) {
            sleepers.swap_remove(at);
            self.count.fetch_sub(1, SeqCst);
        }
        let Some(system) = self.system.get() else { return };
        let is_owed = || sleepers.iter().any(|seen| *seen < self.wakes.load(SeqCst));
        if is_owed() {
            return;
        }
        // A poller that fails has nothing to take out.
        let _ = system.sleep(Some(Duration::ZERO));
        if is_owed() {
            system.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Poller, Registrar};
    use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
    use std::os::fd::AsFd;
    use std::time::Duration;

    fn is_readable(registrar: &Registrar) -> bool {
        let descriptor = registrar.descriptor().unwrap();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&now)).unwrap() == 1
    }

    #[test]
    fn an_internal_sleep_takes_nothing_from_external_waits() {
        let (mut poller, registrar) = Poller::new();
        let [early, late] = [(); 2].map(|()| eventfd(0, EventfdFlags::NONBLOCK).unwrap());
        registrar.add_readable(early.as_fd()).unwrap();
        assert!(!is_readable(&registrar));
        registrar.add_readable(late.as_fd()).unwrap();
        for source in [&early, &late] {
            let wakes = registrar.external().begin_sleep();
            rustix::io::write(source, &1u64.to_ne_bytes()).unwrap();
            poller.sleep(None).unwrap();
            assert!(is_readable(&registrar));
            registrar.external().end_sleep(wakes);
            assert!(!is_readable(&registrar), "taken out");
        }
        let wakes = registrar.external().begin_sleep();
        registrar.wake_handle().wake();
        poller.sleep(None).unwrap();
        poller.sleep(Some(Duration::ZERO)).unwrap();
        assert!(is_readable(&registrar));
        registrar.external().end_sleep(wakes);
        registrar.remove(late.as_fd()).unwrap();
        rustix::io::write(&late, &1u64.to_ne_bytes()).unwrap();
        assert!(!is_readable(&registrar), "removed here too");
    }

    #[test]
    fn a_wake_up_stays_until_all_sleepers_have_seen_it() {
        let (_poller, registrar) = Poller::new();
        assert!(!is_readable(&registrar));
        let external = registrar.external();
        let (early, late) = (external.begin_sleep(), external.begin_sleep());
        registrar.wake_handle().wake();
        external.end_sleep(early);
        assert!(is_readable(&registrar));
        let again = external.begin_sleep();
        external.end_sleep(again);
        assert!(is_readable(&registrar), "one that has seen it takes it away from one that has not");
        let again = external.begin_sleep();
        external.end_sleep(late);
        assert!(!is_readable(&registrar), "no sleeper is owed a wake-up");
        external.end_sleep(again);
        assert!(!external.has_sleepers());
    }

    #[test]
    fn a_wake_up_before_the_sleep_is_kept_once_there_are_descriptors() {
        let (_poller, registrar) = Poller::new();
        assert!(!is_readable(&registrar));
        registrar.wake_handle().wake();
        let wakes = registrar.external().begin_sleep();
        assert!(is_readable(&registrar));
        registrar.external().end_sleep(wakes);
        assert!(!is_readable(&registrar));
    }
}
