//! Whether stores of the direct path are still to be ordered: a flush that finds none is only a look.
//!
//! A flush of mapped ranks orders all that the caller has done before all that it looks at afterwards: of two
//! ranks that each store, flush and look at the other's store, at least one sees it (MPI 3.1 §11.5.4:
//! complete at the target). On processors that keep loads and atomic steps in order ([`ONLY_STORES_LAG`])
//! only a plain store can lag behind a later load, in the store buffer of its core. So the full ordering of a
//! flush, which takes as long as an atomic step, is for puts and the like:
//!
//! ```text
//!   call                                               note
//!   put, MPI_REPLACE, bulk and scattered accumulates   set, whatever else they do
//!   atomic steps, gets                                 as it was
//!   flush                                              orders if it is set, and clears it
//! ```
//!
//! The ordering is that of the thread that flushes. Where one thread at a time calls, the stores of earlier
//! threads were visible to all before this thread got its turn, so they are in order already, and the note
//! may be theirs. Where any number of threads call, a note that one clears could be another's, so it is never
//! cleared.
//!
//! Stores of the program itself are not noted, nor those that a get or a fetch makes in its result, which may
//! lie in window memory too: a flush promises nothing for either (§11.7 names the calls that do,
//! `MPI_Win_sync` and unlock among them, which order in any case).

use super::ThreadLevel;
use crate::mem::ONLY_STORES_LAG;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst, compiler_fence, fence};

/// The note.
#[derive(Debug)]
pub(crate) struct StoreFence {
    is_set: AtomicBool,
    /// What an ordering leaves it at.
    rest: bool,
}

impl StoreFence {
    pub(crate) fn new(level: ThreadLevel) -> Self {
        let rest = !ONLY_STORES_LAG || level == ThreadLevel::Multiple;
        Self { is_set: AtomicBool::new(rest), rest }
    }

    /// A store comes, or has come.
    #[inline(always)]
    pub(crate) fn note(&self) {
        self.is_set.store(true, Relaxed);
    }

    /// Orders all accesses before it before all after it, as far as they are not in order by themselves.
    #[inline(always)]
    pub(crate) fn order(&self) {
        if self.is_set.load(Relaxed) {
            fence(SeqCst);
            self.is_set.store(self.rest, Relaxed);
        } else {
            compiler_fence(SeqCst);
        }
    }

    /// Whether stores are still to be ordered.
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_cleared_by_an_ordering_where_one_thread_at_a_time_calls() {
        for (level, rest) in [(ThreadLevel::Serialized, !ONLY_STORES_LAG), (ThreadLevel::Multiple, true)] {
            let store_fence = StoreFence::new(level);
            assert_eq!(store_fence.is_set(), rest, "{level:?}");
            store_fence.note();
            assert!(store_fence.is_set());
            store_fence.order();
            assert_eq!(store_fence.is_set(), rest, "{level:?}");
        }
    }
}
