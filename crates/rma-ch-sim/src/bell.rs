//! How a rank that sleeps in its poller is woken, in real time, without a system call per packet.
//!
//! Invariant (no lost wake-up): a thread that gives a rank something to look at does so first and rings then;
//! a rank that wants to sleep says so first and looks then. Both "then"s are read-modify-writes of one flag,
//! so one of the two comes second and sees what the other did before.

use parking_lot::Mutex;
use rma_core::poller::WakeHandle;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// The bell of one rank.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    is_sleepy: AtomicBool,
    handle: Mutex<Option<WakeHandle>>,
}

impl Bell {
    /// Sets what wakes the rank's poller.
    pub(crate) fn connect(&self, handle: WakeHandle) {
        *self.handle.lock() = Some(handle);
    }

    /// Says that the rank is about to sleep; look for work after this.
    pub(crate) fn prepare_sleep(&self) {
        // SYNC POINT bell: see `ring`.
        self.is_sleepy.swap(true, AcqRel);
    }

    /// Says that the rank looks anyway.
    pub(crate) fn rouse(&self) {
        // Not a plain store: it would stand between a `ring` and the next `prepare_sleep`, which must read what `ring` released.
        if self.is_sleepy.load(Relaxed) {
            self.is_sleepy.swap(false, AcqRel);
        }
    }

    /// Wakes the rank if it sleeps or is about to. What it is to see has been done before.
    pub(crate) fn ring(&self) {
        // SYNC POINT bell: if this comes before `prepare_sleep` in the flag's order, the rank's look comes after what was done
        // here; if it comes after, it reads `true` and wakes.
        if self.is_sleepy.swap(false, AcqRel) {
            self.wake();
        }
    }

    /// Wakes the rank in any case, or keeps it from its next sleep: for events that it does not look for after `prepare_sleep`.
    pub(crate) fn wake(&self) {
        if let Some(handle) = &*self.handle.lock() {
            handle.wake();
        }
    }
}
