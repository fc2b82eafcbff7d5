//! What the ranks of a random program saw: values that only all of them together can judge, and memory.

use crate::program::{AREA, COUNTER, Expected, OWN, PAIR, SUMS};
use crate::world::local;
use rma_core::window::Window;
use std::collections::BTreeMap;

/// What ranks found out, for checks that need all of them.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Values fetched by window and target.
    pub(crate) fetched: BTreeMap<(usize, u32), Vec<u64>>,
    /// The winners of claims, by window, target and cell.
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

/// Compares a rank's memory in every window with what the program must leave there.
pub(crate) fn check_memory(windows: &[Window], expected: &Expected, me: u32, ranks: u32) {
    for (at, window) in windows.iter().enumerate() {
        let read = |from: u64, len: u64| {
            (from..from + len).map(|index| local(window, index as usize)).collect::<Vec<_>>()
        };
        let here = (at, me);
        let sums = expected.sums.get(&here).cloned().unwrap_or_else(|| vec![0; SUMS as usize]);
        assert_eq!(read(0, SUMS), sums, "sums of window {at} at rank {}", me);
        let fetches = expected.fetches.get(&here).copied().unwrap_or(0);
        assert_eq!(read(COUNTER, 1), [fetches], "counter of window {at} at rank {}", me);
        let increments = expected.increments.get(&here).copied().unwrap_or(0);
        assert_eq!(read(PAIR, 2), [increments; 2], "pair of window {at} at rank {}", me);
        for origin in 0..ranks {
            let own = expected.own.get(&(at, me, origin));
            let own = own.cloned().unwrap_or_else(|| vec![0; AREA as usize]);
            let found = read(OWN + AREA * u64::from(origin), AREA);
            assert_eq!(found, own, "area of rank {origin} in window {at} at rank {}", me);
        }
    }
}
