//! What stands for the predefined objects of the host: a table that is filled before windows are taken over, and never changed after.
//!
//! Each key has one place, and one that finds its place taken is not here: the caller has a table of all ([`crate::table`]).
//!
//! Each table that a call looks at has a factor of its own: the same in several would be kept in a register, of which such a call has
//! none to spare.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Numbers with bits all over, none like another.
pub(crate) const FACTORS: [u32; 3] = [0x61C8_8647, 0x2C1B_3C6D, 0x297A_2D39];

/// Keys and values in `PLACES` places.
#[derive(Debug)]
pub(crate) struct Fixed<const PLACES: usize, const FACTOR: u32>([FixedEntry; PLACES]);

#[derive(Debug)]
struct FixedEntry {
    /// No handle of a host is 0.
    key: AtomicUsize,
    value: AtomicUsize,
}

impl<const PLACES: usize, const FACTOR: u32> Fixed<PLACES, FACTOR> {
    pub(crate) const fn new() -> Self {
        const { assert!(PLACES.is_power_of_two() && PLACES > 1) };
        Self([const { FixedEntry { key: AtomicUsize::new(0), value: AtomicUsize::new(0) } }; PLACES])
    }

    /// Enters a key, if its place is free. By the thread that starts, before windows are taken over.
    pub(crate) fn insert(&self, key: usize, value: usize) {
        let entry = &self.0[place_of::<PLACES, FACTOR>(key)];
        if entry.key.load(Relaxed) == 0 {
            entry.value.store(value, Relaxed);
            entry.key.store(key, Relaxed);
        }
    }

    /// The value of a key that is here.
    #[inline(always)]
    pub(crate) fn find(&self, key: usize) -> Option<usize> {
        let entry = &self.0[place_of::<PLACES, FACTOR>(key)];
        (entry.key.load(Relaxed) == key).then(|| entry.value.load(Relaxed))
    }
}

/// The place of a key, by its lower half: a multiplication by a number in the instruction, which takes one register.
#[inline(always)]
pub(crate) const fn place_of<const PLACES: usize, const FACTOR: u32>(key: usize) -> usize {
    ((key as u32).wrapping_mul(FACTOR) >> (32 - PLACES.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::{FACTORS, Fixed};

    #[test]
    fn the_first_key_of_a_place_stays() {
        let fixed = Fixed::<2, { FACTORS[0] }>::new();
        (1..=10).for_each(|key| fixed.insert(key, key * 10));
        let found: Vec<usize> = (1..=10).filter(|key| fixed.find(*key) == Some(key * 10)).collect();
        assert_eq!(found.len(), 2);
        assert!((1..=10).all(|key| found.contains(&key) == fixed.find(key).is_some()));
    }
}
