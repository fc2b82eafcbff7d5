//! The engine's lock. Its holder may send, receive, wait, and change what other processes see, so taking it
//! first checks that this process is the one that all of that belongs to ([`crate::fork`]): in a forked child
//! the lock may be held for ever, by a thread that is not there.

use super::step::Core;
use crate::fork;
use parking_lot::{Mutex, MutexGuard};
use std::time::Duration;

/// The engine under its lock.
pub(crate) struct Locked(Mutex<Core>);

const CALL: &str = "a call that communicates";

impl Locked {
    pub(crate) fn new(core: Core) -> Self {
        Self(Mutex::new(core))
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        fork::check(CALL);
        self.0.lock()
    }

    /// The engine, if it can be had by then.
    pub(crate) fn try_lock_for(&self, limit: Duration) -> Option<MutexGuard<'_, Core>> {
        fork::check(CALL);
        self.0.try_lock_for(limit)
    }
}
