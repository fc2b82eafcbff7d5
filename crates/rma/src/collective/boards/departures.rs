//! Boards that this process has left and others may still read.
//!
//! A rank that frees its communicator tells each other rank, on that one's board, that it will look there no more. Its own
//! board is given back when all others have told it so.

use super::board::Board;
use parking_lot::Mutex;
use rma_core::host::SegmentSet;
use std::fmt;

/// The boards that wait for the departure of others, of all communicators of a process.
#[derive(Default)]
pub(crate) struct Departures(Mutex<Vec<Left>>);

struct Left {
    segment: SegmentSet,
    own: Board,
    others: u64,
}

impl Left {
    fn is_over(&self) -> bool {
        self.own.departures() >= self.others
    }
}

impl Departures {
    /// Gives back what the boards of a communicator lie in, when all others have left this rank's, which lies in it too.
    pub(super) fn add(&self, segment: SegmentSet, own: Board, others: u64) {
        self.0.lock().push(Left { segment, own, others });
        self.sweep();
    }

    /// Gives back what can be.
    pub(super) fn sweep(&self) {
        // Nothing is given back under the lock.
        let over: Vec<_> = self.0.lock().extract_if(.., |left| left.is_over()).collect();
        drop(over);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

impl Drop for Departures {
    /// The process ends: what others may read is left to the system.
    fn drop(&mut self) {
        self.sweep();
        self.0.get_mut().drain(..).for_each(|left| std::mem::forget(left.segment));
    }
}

impl fmt::Debug for Departures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Departures").field(&self.0.lock().len()).finish()
    }
}
