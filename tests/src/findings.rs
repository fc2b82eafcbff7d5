//! What the ranks of a random program saw: values that only all of them together can judge.

use crate::program::Expected;
use std::collections::BTreeMap;

/// What ranks found out, for checks that need all of them.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Values fetched by window and target.
    pub(crate) fetched: BTreeMap<(usize, u32), Vec<u64>>,
    /// Claims won by window, target and cell: by whom.
    pub(crate) winners: BTreeMap<(usize, u32, u64), Vec<u32>>,
    /// Survivors whose script has ended, in runs with a death.
    pub(crate) ended: u32,
}

impl Findings {
    /// Compares them with what the program says must have happened.
    pub(crate) fn check(&self, expected: &Expected) {
        for (place, count) in &expected.fetches {
            let mut fetched = self.fetched.get(place).cloned().unwrap_or_default();
            fetched.sort_unstable();
            assert_eq!(fetched, (0..*count).collect::<Vec<_>>(), "values fetched at {place:?}");
        }
        for place in expected.claims.keys() {
            let winners = self.winners.get(place).map_or(0, Vec::len);
            assert_eq!(winners, 1, "winners of claim {place:?}");
        }
    }
}
