//! The counters of one rank of a window, as they lie in its control memory.
//!
//! ```text
//! +--------------------+--------------------------+
//! | in use, sleepers   | a word for each counter  |
//! +--------------------+--------------------------+
//! ```
//!
//! Zeros are counters that are not in use. The words that all origins read have a line of their own. Other processes write here at any
//! time, so every value is taken for hostile.

use super::MOST_COUNTERS;
use crate::mem::WriteSpan;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

#[derive(Debug)]
#[repr(C, align(64))]
struct BlockHead {
    in_use: AtomicU64,
    /// Threads of the owner that sleep, or are about to, until a counter changes.
    sleepers: AtomicU64,
}

/// A view of the counters of a rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterBlock<'a> {
    head: &'a BlockHead,
    counters: &'a [AtomicU64],
}

/// The counters of a rank, which are looked for until its owner has published where they are.
#[derive(Debug)]
pub(super) struct CounterPlace {
    control: WriteSpan,
    /// At which byte they begin, and behind that how many there are, checked; zero until then. What is published later is nothing to us.
    found: AtomicU64,
}

/// For the number of counters.
const CAPACITY_BITS: u32 = 21;
const CAPACITY: u64 = (1 << CAPACITY_BITS) - 1;
const _: () = assert!(MOST_COUNTERS as u64 <= CAPACITY);

impl CounterPlace {
    /// In the control memory of a rank.
    pub(super) fn new(control: WriteSpan) -> Self {
        Self { control, found: AtomicU64::new(0) }
    }

    /// The counters; `published` says where they are and how many.
    #[inline(always)] // looked up by each call
    pub(super) fn block(&self, published: impl FnOnce() -> (u64, u64)) -> Option<CounterBlock<'_>> {
        let found = self.found.load(Relaxed);
        if found == 0 {
            return self.find(published());
        }
        let (at, capacity) = (found >> CAPACITY_BITS, found & CAPACITY);
        // SAFETY: `find` has checked them, for this memory.
        Some(unsafe { CounterBlock::lies_at(&self.control, at as usize, capacity as usize) })
    }

    #[cold]
    fn find(&self, (at, capacity): (u64, u64)) -> Option<CounterBlock<'_>> {
        let block = CounterBlock::within(&self.control, at, capacity)?;
        if capacity <= CAPACITY && at <= u64::MAX >> CAPACITY_BITS {
            self.found.store(at << CAPACITY_BITS | capacity, Relaxed);
        }
        Some(block)
    }
}

impl<'a> CounterBlock<'a> {
    /// Bytes for so many counters.
    pub(crate) fn len_for(capacity: u32) -> u64 {
        (size_of::<BlockHead>() as u64 + u64::from(capacity) * 8).next_multiple_of(64)
    }

    /// The counters that begin at a byte of control memory; `None` when they do not lie there, or not aligned.
    fn within(control: &'a WriteSpan, at: u64, capacity: u64) -> Option<Self> {
        let end = capacity.checked_mul(8)?.checked_add(size_of::<BlockHead>() as u64)?.checked_add(at)?;
        let at = usize::try_from(at).ok()?;
        let start = control.as_mut_ptr().cast_const().wrapping_add(at);
        if at == 0 || end > control.len() as u64 || !start.cast::<BlockHead>().is_aligned() {
            return None;
        }
        // SAFETY: as was just checked.
        Some(unsafe { Self::lies_at(control, at, capacity as usize) })
    }

    /// The counters that begin at a byte of control memory.
    ///
    /// # Safety
    /// The byte is aligned as the head is, and that and so many counters lie in the span.
    #[inline(always)]
    unsafe fn lies_at(control: &'a WriteSpan, at: usize, capacity: usize) -> Self {
        let head = control.as_mut_ptr().cast_const().wrapping_add(at).cast::<BlockHead>();
        let first = head.wrapping_add(1).cast::<AtomicU64>();
        // SAFETY: the bytes lie within the span and are aligned by the caller's promise; the span's maker promised that they stay
        // mapped while it is used, and no reference to plain bytes of them exists. All of them are atomics, which other processes
        // may write at any time and of which any bits are valid.
        unsafe { Self { head: &*head, counters: std::slice::from_raw_parts(first, capacity) } }
    }

    /// How many counters are in use.
    #[inline]
    pub(crate) fn in_use(self) -> u32 {
        (self.head.in_use.load(Relaxed) as u32).min(self.counters.len() as u32)
    }

    /// How many there is room for.
    pub(crate) fn capacity(self) -> u32 {
        self.counters.len() as u32
    }

    /// Puts so many into use, all of them zero; for the owner.
    pub(crate) fn set_in_use(self, number: u32) {
        self.counters.iter().for_each(|counter| counter.store(0, SeqCst));
        self.head.in_use.store(number.into(), SeqCst);
    }

    /// What a counter is at; one that there is no room for is at zero.
    #[inline]
    pub(crate) fn value(self, counter: u32) -> u64 {
        // SYNC POINT N1: sees what was stored before the counter was raised.
        self.counters.get(counter as usize).map_or(0, |counter| counter.load(SeqCst))
    }

    /// What it is at, and sets it to zero in the same step.
    #[inline]
    pub(crate) fn take(self, counter: u32) -> u64 {
        // SYNC POINT N1
        self.counters.get(counter as usize).map_or(0, |counter| counter.swap(0, SeqCst))
    }

    /// Raises a counter by one, behind all that was stored before; says whether a thread of the owner may sleep until then. One that there is no
    /// room for, which only a hostile process names, stays unraised.
    #[inline]
    pub(crate) fn raise(self, counter: u32) -> bool {
        let Some(counter) = self.counters.get(counter as usize) else { return false };
        // SYNC POINT N1: publishes the data. As a locked step it also drains stores that went past the caches.
        counter.fetch_add(1, SeqCst);
        self.has_sleepers()
    }

    /// Whether a thread of the owner may sleep.
    pub(crate) fn has_sleepers(self) -> bool {
        self.head.sleepers.load(SeqCst) > 0
    }

    /// A thread of the owner may sleep from now on.
    pub(crate) fn begin_sleep(self) {
        // SYNC POINT N1: comes before the last look at the counter.
        self.head.sleepers.fetch_add(1, SeqCst);
    }

    /// It is awake.
    pub(crate) fn end_sleep(self) {
        self.head.sleepers.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::testing::memory;

    #[test]
    fn counters_lie_in_control_memory_and_nowhere_else() {
        let memory = memory(64 + CounterBlock::len_for(3) as usize);
        let within = |at, capacity| CounterBlock::within(&memory, at, capacity);
        let block = within(64, 3).expect("they lie there");
        assert_eq!((block.capacity(), block.in_use(), block.value(0)), (3, 0, 0));
        block.set_in_use(2);
        assert!(!block.raise(1) && !block.raise(1) && !block.raise(3), "nobody sleeps");
        assert_eq!((block.in_use(), block.value(0), block.value(1), block.value(3)), (2, 0, 2, 0));
        assert_eq!((block.take(1), block.value(1), block.take(9)), (2, 0, 0));
        block.begin_sleep();
        assert!(block.raise(0));
        block.end_sleep();
        assert!(!block.raise(0));
        block.set_in_use(9);
        assert_eq!(
            (block.in_use(), block.value(0)),
            (3, 0),
            "all are reset, and no more than there is room for"
        );
        for (at, capacity) in [(0, 3), (8, 3), (64, 9), (64, u64::MAX), (u64::MAX - 63, 1), (128, 3)] {
            assert!(within(at, capacity).is_none(), "{capacity} counters at {at}");
        }
    }

    #[test]
    fn counters_are_looked_for_until_they_are_published_and_stay_where_they_were() {
        let place = CounterPlace::new(memory(64 + CounterBlock::len_for(3) as usize));
        assert!(place.block(|| (0, 0)).is_none(), "not published yet");
        assert!(place.block(|| (64, u64::MAX)).is_none(), "published by a hostile owner");
        place.block(|| (64, 3)).expect("they lie there").set_in_use(2);
        let block = place.block(|| (64, u64::MAX)).expect("they stay");
        assert_eq!((block.capacity(), block.in_use()), (3, 2));
    }
}
