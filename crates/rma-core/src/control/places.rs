//! Sets of places of marks ([`super::marks`]): those of the ranks of one group.
//!
//! A set of any size is looked at a word of marks at a time, and most have one: the first 64 ranks that map a window.

use super::layout::MARK_WORDS;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A set of places below [`super::Marks::PLACES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    words: [u64; MARK_WORDS],
    /// Words up to the last that has a place.
    used: usize,
}

/// A set that one thread at a time keeps and others may read, when another word says that they may.
#[derive(Debug, Default)]
pub struct KeptPlaces {
    words: [AtomicU64; MARK_WORDS],
    used: AtomicU64,
}

impl Places {
    /// Adds a place below [`super::Marks::PLACES`]; `false` when it is there already.
    #[inline]
    pub fn insert(&mut self, place: usize) -> bool {
        let (at, bit) = (place / 64, 1 << (place % 64));
        let is_new = self.words[at] & bit == 0;
        self.words[at] |= bit;
        self.used = self.used.max(at + 1);
        is_new
    }

    /// Whether a place is in it.
    pub fn contains(&self, place: usize) -> bool {
        self.words.get(place / 64).is_some_and(|word| word & 1 << (place % 64) != 0)
    }

    /// Ascending.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words().iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest.checked_sub(1)?;
                Some(at * 64 + bit)
            })
        })
    }

    /// The words that may have places.
    #[inline]
    pub(super) fn words(&self) -> &[u64] {
        &self.words[..self.used.min(MARK_WORDS)]
    }
}

impl KeptPlaces {
    /// Keeps none.
    /// Keeps another set.
    #[inline]
    pub fn set(&self, places: &Places) {
        self.used.store(places.used as u64, Relaxed);
        self.words.iter().zip(places.words()).for_each(|(kept, word)| kept.store(*word, Relaxed));
    }

    /// The set that is kept; any set, when another thread changes it meanwhile.
    #[inline]
    pub fn get(&self) -> Places {
        let mut places = Places { used: self.used.load(Relaxed) as usize, ..Places::default() };
        let words = self.words.iter().zip(&mut places.words).take(places.used);
        words.for_each(|(kept, word)| *word = kept.load(Relaxed));
        places
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::control::Marks;

    #[test]
    fn a_set_holds_any_places_once_and_keeps_nothing_of_the_one_before() {
        let kept = KeptPlaces::default();
        assert_eq!(kept.get().iter().count(), 0);
        let all: Vec<_> = (0..Marks::PLACES).collect();
        for chosen in [&all[..], &[Marks::PLACES - 1, 0, 64, 63], &[5], &[70, 2], &[]] {
            let mut places = Places::default();
            assert!(chosen.iter().all(|place| places.insert(*place)));
            assert!(chosen.iter().all(|place| !places.insert(*place) && places.contains(*place)));
            let mut ascending = chosen.to_vec();
            ascending.sort_unstable();
            assert_eq!(places.iter().collect::<Vec<_>>(), ascending);
            kept.set(&places);
            assert_eq!(kept.get(), places);
        }
        assert!(!kept.get().contains(5) && !kept.get().contains(Marks::PLACES));
    }
}
