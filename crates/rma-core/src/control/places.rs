//! Sets of places of marks ([`super::marks`]): those of the ranks of one group.
//!
//! Most have one word, for the first 64 ranks that map a window, and cost what a word costs: words behind it exist in a set that has
//! a place there.

use super::layout::MARK_WORDS;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Words behind the first.
const MORE: usize = MARK_WORDS - 1;

/// A set of places below [`super::Marks::PLACES`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    first: u64,
    /// Some when a place lies there.
    more: Option<Box<[u64; MORE]>>,
}

/// A set that one thread at a time keeps and others may read, when another word says that they may.
#[derive(Debug, Default)]
pub struct KeptPlaces {
    first: AtomicU64,
    has_more: AtomicBool,
    more: [AtomicU64; MORE],
}

impl Places {
    /// The set of these places; `None` when one is none below [`super::Marks::PLACES`], or is there twice.
    #[inline]
    pub fn of(places: impl Iterator<Item = Option<usize>> + Clone) -> Option<Self> {
        let mut first = 0;
        for place in places.clone() {
            let place = place?;
            if place >= 64 {
                return Self::of_many(places);
            }
            if !insert(&mut first, place) {
                return None;
            }
        }
        Some(Self { first, more: None })
    }

    #[cold]
    fn of_many(mut places: impl Iterator<Item = Option<usize>>) -> Option<Self> {
        let (mut first, mut more) = (0, Box::new([0; MORE]));
        let is_set = places.all(|place| {
            place.is_some_and(|place| match (place / 64).checked_sub(1) {
                None => insert(&mut first, place),
                Some(behind) => more.get_mut(behind).is_some_and(|word| insert(word, place % 64)),
            })
        });
        is_set.then_some(Self { first, more: Some(more) })
    }

    /// Whether a place is in it.
    pub fn contains(&self, place: usize) -> bool {
        let word = match (place / 64).checked_sub(1) {
            None => Some(&self.first),
            Some(behind) => self.more.as_ref().and_then(|more| more.get(behind)),
        };
        word.is_some_and(|word| word & 1 << (place % 64) != 0)
    }

    /// Ascending.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let (mut word, mut at) = (self.first, 0);
        std::iter::from_fn(move || {
            while word == 0 {
                word = *self.more.as_ref()?.get(at)?;
                at += 1;
            }
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            Some(at * 64 + bit)
        })
    }

    /// The word of the first 64 places.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The words behind it, if one has a place.
    #[inline]
    pub(super) fn more(&self) -> Option<&[u64; MORE]> {
        self.more.as_deref()
    }
}

#[inline]
fn insert(word: &mut u64, bit: usize) -> bool {
    let is_new = *word & 1 << bit == 0;
    *word |= 1 << bit;
    is_new
}

impl KeptPlaces {
    /// Keeps another set.
    #[inline(always)] // as one word is
    pub fn set(&self, places: &Places) {
        self.first.store(places.first, Relaxed);
        self.has_more.store(places.more.is_some(), Relaxed);
        if let Some(more) = &places.more {
            self.set_behind(more);
        }
    }

    #[cold]
    fn set_behind(&self, more: &[u64; MORE]) {
        self.more.iter().zip(more).for_each(|(kept, word)| kept.store(*word, Relaxed));
    }

    /// The set that is kept; any set, when another thread changes it meanwhile.
    #[inline]
    pub fn get(&self) -> Places {
        let more = self.has_more.load(Relaxed).then(|| self.get_behind());
        Places { first: self.first.load(Relaxed), more }
    }

    #[cold]
    fn get_behind(&self) -> Box<[u64; MORE]> {
        Box::new(std::array::from_fn(|at| self.more[at].load(Relaxed)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::control::Marks;

    fn of(places: &[usize]) -> Option<Places> {
        Places::of(places.iter().copied().map(Some))
    }

    #[test]
    fn a_set_holds_any_places_once_and_keeps_nothing_of_the_one_before() {
        let kept = KeptPlaces::default();
        assert_eq!(kept.get().iter().count(), 0);
        let all: Vec<_> = (0..Marks::PLACES).collect();
        for chosen in [&all[..], &[Marks::PLACES - 1, 0, 64, 63], &[5], &[70, 2], &[]] {
            let places = of(chosen).unwrap();
            assert!(chosen.iter().all(|place| places.contains(*place)));
            assert!(chosen.iter().all(|place| of(&[chosen, &[*place]].concat()).is_none()), "twice");
            let mut ascending = chosen.to_vec();
            ascending.sort_unstable();
            assert_eq!(places.iter().collect::<Vec<_>>(), ascending);
            kept.set(&places);
            assert_eq!(kept.get(), places);
        }
        assert!(of(&[Marks::PLACES]).is_none() && Places::of([Some(1), None].into_iter()).is_none());
        assert!(!kept.get().contains(5) && !kept.get().contains(Marks::PLACES));
    }
}
