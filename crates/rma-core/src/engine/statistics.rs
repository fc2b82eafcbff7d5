//! What an engine counts only when it is asked to: operations in mapped memory, and the time of waits.

use super::Engine;
use crate::stats::Waited;

impl Engine {
    /// Counts operations in mapped memory, of windows made from now on, and times waits: [`Engine::counters`] and
    /// [`Engine::waited`]. A call on mapped memory takes some nanoseconds more.
    pub fn keep_statistics(&self) {
        self.waiting().times.keep();
    }

    pub(crate) fn keeps_statistics(&self) -> bool {
        self.waiting().times.are_kept()
    }

    /// Time that calls have waited so far, since [`Engine::keep_statistics`].
    pub fn waited(&self) -> Waited {
        self.waiting().times.sum()
    }
}
