//! Which bytes of an arena are free. Knows numbers only.
//!
//! Invariants: free ranges are disjoint and never touch (neighbours are joined); all lengths are multiples of [`GRAIN`].
//! Taking is best fit, in logarithmic time for alignments up to a grain.

use std::collections::{BTreeMap, BTreeSet};

/// Blocks are whole cache lines, so no two share one.
pub(super) const GRAIN: u64 = 64;

/// The free bytes of an arena.
#[derive(Debug)]
pub(super) struct Space {
    by_offset: BTreeMap<u64, u64>,
    by_len: BTreeSet<(u64, u64)>,
}

impl Space {
    /// `len` free bytes, cut to whole grains.
    pub(super) fn new(len: u64) -> Self {
        let mut space = Self { by_offset: BTreeMap::new(), by_len: BTreeSet::new() };
        space.insert(0, len / GRAIN * GRAIN);
        space
    }

    /// Takes `len` bytes, rounded up to grains, at a multiple of `align`, a power of two.
    pub(super) fn take(&mut self, len: u64, align: u64) -> Option<u64> {
        let len = len.max(1).checked_next_multiple_of(GRAIN)?;
        let fits = |(free, offset): &(u64, u64)| {
            let at = offset.next_multiple_of(align);
            at - offset <= *free && free - (at - offset) >= len
        };
        let (free, offset) = self.by_len.range((len, 0)..).copied().find(|range| fits(range))?;
        let at = offset.next_multiple_of(align);
        self.remove(offset, free);
        self.insert(offset, at - offset);
        self.insert(at + len, offset + free - at - len);
        Some(at)
    }

    /// Gives back what [`Space::take`] has given for `len`.
    pub(super) fn give_back(&mut self, mut offset: u64, len: u64) {
        let mut len = len.max(1).next_multiple_of(GRAIN);
        if let Some((&before, &before_len)) = self.by_offset.range(..offset).next_back()
            && before + before_len == offset
        {
            self.remove(before, before_len);
            (offset, len) = (before, before_len + len);
        }
        if let Some(&behind_len) = self.by_offset.get(&(offset + len)) {
            self.remove(offset + len, behind_len);
            len += behind_len;
        }
        self.insert(offset, len);
    }

    fn insert(&mut self, offset: u64, len: u64) {
        if len > 0 {
            self.by_offset.insert(offset, len);
            self.by_len.insert((len, offset));
        }
    }

    fn remove(&mut self, offset: u64, len: u64) {
        self.by_offset.remove(&offset);
        self.by_len.remove(&(len, offset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    #[test]
    fn blocks_never_overlap_and_all_comes_back() {
        let (total, mut dice) = (1 << 20, Dice::new(4));
        let mut space = Space::new(total);
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for _ in 0..20_000 {
            if dice.below(2) == 0 || taken.is_empty() {
                let (len, align) = (dice.below(5000) as u64, 64 << dice.below(7));
                let Some(at) = space.take(len, align) else { continue };
                assert!(at.is_multiple_of(align) && at + len <= total);
                let end = at + len.max(1);
                assert!(
                    taken.iter().all(|(other, other_len)| end <= *other || other + other_len.max(&1) <= at)
                );
                taken.push((at, len));
            } else {
                let (at, len) = taken.swap_remove(dice.below(taken.len()));
                space.give_back(at, len);
            }
        }
        taken.into_iter().for_each(|(at, len)| space.give_back(at, len));
        assert_eq!(space.by_offset, BTreeMap::from([(0, total)]));
        assert_eq!(space.by_len, BTreeSet::from([(total, 0)]));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let mut space = Space::new(8192);
        for (len, align) in [(8193, 64), (u64::MAX, 64), (4097, 4096 * 4)] {
            let first = space.take(64, 64);
            assert_eq!((space.take(len, align), first), (None, Some(0)));
            space.give_back(0, 64);
        }
        assert_eq!(space.take(8192, 64), Some(0));
        assert_eq!(space.take(0, 64), None);
    }
}
