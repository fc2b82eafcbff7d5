//! The exclusion of unaligned and wide accumulates: one spin lock per window and target, tagged with its holder's process.
//!
//! Elements that are not naturally aligned, or not one word (complex numbers, pairs of value and location,
//! extended precision), have no atomic step. Every change of one, by an origin or by the target's engine,
//! holds this lock. Such elements are rare and the sections short, so there is one lock and no queue. The tag
//! lets a survivor free what a dead process held.

use super::layout::CacheLine;
use super::pause::take;
use super::shim::{AtomicU64, Ordering};
use super::state::Holder;

/// The exclusion of one control block, held in the name of one process.
#[derive(Clone, Copy, Debug)]
pub struct UnalignedExclusion<'a> {
    word: &'a AtomicU64,
    holder: Holder,
}

/// Others are excluded until this is dropped.
#[derive(Debug)]
pub struct UnalignedGuard<'a> {
    word: &'a AtomicU64,
}

impl<'a> UnalignedExclusion<'a> {
    pub(super) fn new(word: &'a CacheLine<AtomicU64>, holder: Holder) -> Self {
        Self { word: &word.0, holder }
    }

    /// Frees the exclusion if this process holds it, which must be dead; says whether it did.
    pub fn clear_dead(self) -> bool {
        // SYNC POINT unaligned: as the holder's own release.
        self.word.compare_exchange(self.holder.code(), 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Waits until no other process holds it, or only a process that `has_ended`.
    pub fn exclude(self, has_ended: &dyn Fn(u64) -> bool) -> UnalignedGuard<'a> {
        // SYNC POINT unaligned: sees what the holder before stored under its guard.
        take(self.word, self.holder, has_ended);
        UnalignedGuard { word: self.word }
    }
}

impl Drop for UnalignedGuard<'_> {
    fn drop(&mut self) {
        // SYNC POINT unaligned: publishes what was stored under the guard to the next holder.
        self.word.store(0, Ordering::Release);
    }
}
