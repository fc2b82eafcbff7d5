//! What ends the waits of all ranks of one process.
//!
//! Knows nothing of how ranks wait: each wait asks, and what sleeps has left a handle that wakes it.

use parking_lot::Mutex;
use rma_core::poller::WakeHandle;
use rma_core::{Error, ErrorClass, Result};
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the waits of all ranks of one process, when one of them has failed. Processes need none: their launcher ends them.
#[derive(Default)]
pub(crate) struct Alarm {
    is_raised: AtomicBool,
    sleepers: Mutex<Vec<WakeHandle>>,
}

impl Alarm {
    /// Adds a sleeper to wake.
    pub(crate) fn add(&self, sleeper: WakeHandle) {
        self.sleepers.lock().push(sleeper);
    }

    /// Ends all waits.
    pub(crate) fn raise(&self) {
        // A thread that checks before this store is woken by what follows, and checks again.
        self.is_raised.store(true, Ordering::SeqCst);
        self.sleepers.lock().iter().for_each(WakeHandle::wake);
    }

    /// Whether no rank has failed.
    ///
    /// # Errors
    /// When one has.
    pub(crate) fn check(&self) -> Result<()> {
        match self.is_raised.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorClass::ProcAborted, "wait", "another rank of the job has failed")),
            false => Ok(()),
        }
    }
}
