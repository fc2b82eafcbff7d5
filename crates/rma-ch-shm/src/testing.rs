//! For tests only: random numbers that a seed repeats, and vectors as memory to gather from and scatter to.

use rma_core::datatype::{Gather, Scatter};
use rma_core::mem::{ReadSpan, WriteSpan};

/// Lends bytes as memory to send from.
pub(crate) fn with_gather<R>(bytes: &[u8], with: impl FnOnce(&mut Gather) -> R) -> R {
    // SAFETY: the bytes are borrowed for the call, which cannot keep the gather; a clone in tests is not kept either.
    with(&mut Gather::span(unsafe { ReadSpan::new(bytes.as_ptr(), bytes.len()) }))
}

/// Lends bytes as memory to receive into.
pub(crate) fn with_scatter<R>(bytes: &mut [u8], with: impl FnOnce(&mut Scatter) -> R) -> R {
    // SAFETY: as for `with_gather`, and no reference to the bytes is used meanwhile.
    with(&mut Scatter::span(unsafe { WriteSpan::new(bytes.as_mut_ptr(), bytes.len()) }))
}

/// A small generator (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn in_range(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}
