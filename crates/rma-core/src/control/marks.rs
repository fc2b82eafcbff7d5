//! Sets of marks in shared memory: which ranks have signalled the owner of a control block, one bit for each.
//!
//! Posts and dones of general active target synchronization are marks: a rank has at most one of each kind
//! under way to another one before that one takes it (see `state/started.rs`), so a bit is enough. Ranks are
//! named by their place among those that map the window; those past the last bit use packets.
//!
//! A rank signals by turning its bit over, and the owner remembers, in memory of its own, which bits it has
//! answered: a mark is there when the two differ. So the owner never writes the line that it polls, and a
//! mark costs one move of the line there and one back.

use super::layout::MARK_WORDS;
use super::places::Places;
use super::shim::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

/// The marks of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'a>(&'a [AtomicU64; MARK_WORDS]);

/// Which marks of one kind their owner has taken; not shared with other processes.
#[derive(Debug)]
pub struct Taken([AtomicU64; MARK_WORDS]);

impl Taken {
    /// None.
    #[allow(clippy::new_without_default)] // the checker's words have no default
    pub fn new() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl<'a> Marks<'a> {
    /// Places that have a bit.
    pub const PLACES: usize = 64 * MARK_WORDS;

    #[inline]
    pub(super) fn new(words: &'a [AtomicU64; MARK_WORDS]) -> Self {
        Self(words)
    }

    /// Signals the owner, which has taken this rank's mark before.
    ///
    /// # Panics
    /// When `place` is not below [`Marks::PLACES`].
    #[inline]
    pub fn set(self, place: usize) {
        // SYNC POINT mark: publishes what this rank did before; pairs with `is_set`. It comes before a look at the owner's sleep
        // (SYNC POINT asleep).
        self.0[place / 64].fetch_xor(1 << (place % 64), SeqCst);
    }

    /// Whether the mark is there; for the owner.
    ///
    /// # Panics
    /// As [`Marks::set`].
    #[inline]
    pub fn is_set(self, place: usize, taken: &Taken) -> bool {
        // SYNC POINT mark: sees what the other rank did before its signal. Comes after the owner's
        // announcement of its sleep (SYNC POINT asleep).
        let differs = self.0[place / 64].load(SeqCst) ^ taken.0[place / 64].load(Relaxed);
        differs & (1 << (place % 64)) != 0
    }

    /// Takes the mark, if it is there; for the owner, one thread at a time for each kind.
    ///
    /// # Panics
    /// As [`Marks::set`].
    #[inline]
    pub fn take(self, place: usize, taken: &Taken) -> bool {
        let is_set = self.is_set(place, taken);
        if is_set {
            let word = &taken.0[place / 64];
            word.store(word.load(Relaxed) ^ (1 << (place % 64)), Relaxed);
        }
        is_set
    }

    /// Whether the marks of all these places are there; for the owner.
    #[inline]
    pub fn are_set(self, places: &Places, taken: &Taken) -> bool {
        let are_set = |(at, wanted): (usize, &u64)| {
            // SYNC POINT mark: as in `is_set`.
            (self.0[at].load(SeqCst) ^ taken.0[at].load(Relaxed)) & wanted == *wanted
        };
        let mut behind = places.more().into_iter().flatten().enumerate();
        are_set((0, &places.first())) && behind.all(|(at, wanted)| are_set((1 + at, wanted)))
    }

    /// Takes the marks of these places that are there; as [`Marks::take`].
    #[inline(always)] // as one word is
    pub fn take_all(self, places: &Places, taken: &Taken) {
        self.take_word(0, places.first(), taken);
        if let Some(more) = places.more() {
            self.take_behind(more, taken);
        }
    }

    #[cold]
    fn take_behind(self, more: &[u64], taken: &Taken) {
        more.iter().enumerate().for_each(|(at, places)| self.take_word(1 + at, *places, taken));
    }

    #[inline(always)]
    fn take_word(self, at: usize, places: u64, taken: &Taken) {
        let before = taken.0[at].load(Relaxed);
        taken.0[at].store(before ^ ((self.0[at].load(SeqCst) ^ before) & places), Relaxed);
    }

    /// Whether no mark is there, at some moment; for tests.
    pub fn is_empty(self, taken: &Taken) -> bool {
        self.0.iter().zip(&taken.0).all(|(word, taken)| word.load(Relaxed) == taken.load(Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_a_mark_of_its_own_that_is_taken_once() {
        let words = std::array::from_fn(|_| AtomicU64::new(0));
        let (marks, taken) = (Marks::new(&words), Taken::new());
        // Twice: bits go back the second time.
        for place in (0..Marks::PLACES).chain(0..Marks::PLACES) {
            assert!(!marks.take(place, &taken));
            marks.set(place);
            marks.set((place + 1) % Marks::PLACES);
            assert!(marks.is_set(place, &taken) && marks.take(place, &taken) && !marks.take(place, &taken));
            assert!(marks.take((place + 1) % Marks::PLACES, &taken));
        }
        assert!(marks.is_empty(&taken));
    }

    #[test]
    fn marks_of_a_group_are_there_when_all_have_signalled_and_are_taken_together() {
        let words = std::array::from_fn(|_| AtomicU64::new(0));
        let (marks, taken) = (Marks::new(&words), Taken::new());
        let group = [70, 3, 0, Marks::PLACES - 1, 63];
        let places = Places::of(group.into_iter().map(Some)).unwrap();
        for _ in 0..2 {
            marks.set(5);
            for place in group {
                assert!(!marks.are_set(&places, &taken));
                marks.set(place);
            }
            assert!(marks.are_set(&places, &taken));
            marks.take_all(&places, &taken);
            assert!(!marks.are_set(&places, &taken) && marks.take(5, &taken) && marks.is_empty(&taken));
        }
        assert!(marks.are_set(&Places::default(), &taken), "an empty set");
    }

    #[test]
    fn taking_marks_does_not_write_their_words() {
        let words = std::array::from_fn(|_| AtomicU64::new(0));
        let (marks, taken) = (Marks::new(&words), Taken::new());
        marks.set(3);
        let before = words[0].load(Relaxed);
        assert!(marks.take(3, &taken));
        assert_eq!(words[0].load(Relaxed), before);
    }
}
