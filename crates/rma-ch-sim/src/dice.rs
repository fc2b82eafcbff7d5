//! What everything in virtual time follows from: draws of a seed, and moments.

use std::ops::RangeInclusive;

/// A moment in nanoseconds since the network began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) u64);

/// Numbers that look random and follow from a seed (the splitmix64 sequence).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An index below `count`, which is not 0.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.roll() % count as u64) as usize
    }

    pub(crate) fn within(&mut self, range: &RangeInclusive<u64>) -> u64 {
        let width = range.end().saturating_sub(*range.start()).saturating_add(1);
        range.start() + self.roll() % width
    }
}
