//! Sets of marks in shared memory: which ranks have told the owner of a control block something, one bit for each.
//!
//! Posts and dones of general active target synchronization are marks: a rank has at most one of each kind to tell another one
//! before that one takes it (see `epoch/access.rs`), so a bit is enough. Ranks are named by their place among those that map
//! the window; those past the last bit use packets.

use super::layout::MARK_WORDS;
use super::shim::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

/// The marks of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'a>(&'a [AtomicU64; MARK_WORDS]);

impl<'a> Marks<'a> {
    /// Places that have a bit.
    pub const PLACES: usize = 64 * MARK_WORDS;

    pub(super) fn new(words: &'a [AtomicU64; MARK_WORDS]) -> Self {
        Self(words)
    }

    /// Tells the owner.
    ///
    /// # Panics
    /// When `place` is not below [`Marks::PLACES`].
    pub fn set(self, place: usize) {
        // SYNC POINT mark: publishes what this rank did before; pairs with `take`.
        self.0[place / 64].fetch_or(1 << (place % 64), SeqCst);
    }

    /// Takes the mark, if it is there.
    ///
    /// # Panics
    /// As [`Marks::set`].
    pub fn take(self, place: usize) -> bool {
        let bit = 1 << (place % 64);
        // SYNC POINT mark: sees what the other rank did before it told. The load spares the word while nothing is there; it
        // comes after whatever the owner has said of its sleep (SYNC POINT asleep).
        self.0[place / 64].load(SeqCst) & bit != 0 && self.0[place / 64].fetch_and(!bit, SeqCst) & bit != 0
    }

    /// Whether no mark is there, at some moment; for tests.
    pub fn is_empty(self) -> bool {
        self.0.iter().all(|word| word.load(Relaxed) == 0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_a_mark_of_its_own_that_is_taken_once() {
        let words = std::array::from_fn(|_| AtomicU64::new(0));
        let marks = Marks::new(&words);
        for place in 0..Marks::PLACES {
            assert!(!marks.take(place));
            marks.set(place);
            marks.set((place + 1) % Marks::PLACES);
            assert!(marks.take(place) && !marks.take(place));
            assert!(marks.take((place + 1) % Marks::PLACES));
        }
        assert!(marks.is_empty());
    }
}
