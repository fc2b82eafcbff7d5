//! Meetings of all ranks of a window in shared memory: a barrier that costs each rank one atomic addition to a word of its own.
//!
//! The word of a rank counts its arrivals. Every rank arrives once for each meeting, so meeting number `n` is
//! over when no word counts fewer than `n`; a rank that goes on to the next meeting only adds to its count.
//! Only its owner adds to a word, and each has a cache line, so that it moves from the owner to each waiting
//! rank once, and no further.
//!
//! A rank that finds another one dead breaks the meeting: the word of the window's first rank then names the
//! dead one, for all ranks and for good.
//!
//! The count stands in the upper bits, so that what it overflows with after 2⁴⁰ arrivals (two weeks of fences
//! of 1 µs) is gone and names no rank. All comparisons are modulo 2⁴⁰: two counts are never further apart
//! than two meetings.
//!
//! ```text
//!  63                        24 23             0
//! +----------------------------+----------------+
//! |          arrivals          |  broken by + 1 |
//! +----------------------------+----------------+
//! ```

use super::shim::{AtomicU64, Ordering::SeqCst};
use crate::ids::Rank;

const NAME_BITS: u32 = 24;
const NAME_MASK: u64 = (1 << NAME_BITS) - 1;
const ONE_ARRIVAL: u64 = 1 << NAME_BITS;
const ARRIVALS_MASK: u64 = u64::MAX >> NAME_BITS;

/// The word of one rank, as any rank uses it.
#[derive(Clone, Copy, Debug)]
pub struct Meeting<'a>(&'a AtomicU64);

/// How far a meeting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attendance {
    /// Some have not come.
    Waiting,
    /// All have come.
    Complete,
    /// This rank is dead, and never will.
    Broken(Rank),
}

impl<'a> Meeting<'a> {
    #[inline]
    pub(super) fn new(word: &'a AtomicU64) -> Self {
        Self(word)
    }

    /// The owner arrives; answers the number of the meeting, for [`Meeting::has_come`]. When it then sees
    /// that all have come, it may have been the last, and wakes those that sleep.
    #[inline]
    pub fn arrive(self) -> u64 {
        // SYNC POINT meeting: publishes what this rank did before. It comes before the look for other
        // arrivals and for sleepers (SYNC POINT asleep): of all arrivals one is the last, and its rank sees
        // all.
        let before = self.0.fetch_add(ONE_ARRIVAL, SeqCst) >> NAME_BITS;
        (before + 1) & ARRIVALS_MASK
    }

    /// Whether the owner has come to a meeting.
    #[inline]
    pub fn has_come(self, number: u64) -> bool {
        // SYNC POINT meeting: sees what the owner did before it arrived.
        let ahead = (self.0.load(SeqCst) >> NAME_BITS).wrapping_sub(number) & ARRIVALS_MASK;
        ahead < ARRIVALS_MASK / 2
    }

    /// The last meeting that the owner has come to.
    pub(crate) fn last(self) -> u64 {
        self.0.load(SeqCst) >> NAME_BITS
    }

    /// The rank that is reported dead, in the word of the first rank.
    pub fn broken_by(self) -> Option<Rank> {
        (self.0.load(SeqCst) & NAME_MASK).checked_sub(1).map(|dead| Rank(dead as u32))
    }

    /// Notes in the word of the first rank that a rank is dead, unless it names one already. Ranks past what
    /// the word can hold are named by the last.
    pub fn break_up(self, dead: Rank) {
        let name = u64::from(dead.0).min(NAME_MASK - 1) + 1;
        let mut word = self.0.load(SeqCst);
        while word & NAME_MASK == 0 {
            match self.0.compare_exchange_weak(word, word | name, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(found) => word = found,
            }
        }
    }
}

/// How far meeting `number` is, of the ranks with these words, the first rank first.
pub fn attendance<'a>(words: impl Iterator<Item = Meeting<'a>> + Clone, number: u64) -> Attendance {
    // Looked at before the arrivals: a rank that breaks the meeting later was not needed for it, or is in it.
    let dead = words.clone().next().and_then(Meeting::broken_by);
    let mut words = words;
    match (words.all(|word| word.has_come(number)), dead) {
        (true, _) => Attendance::Complete,
        (false, None) => Attendance::Waiting,
        (false, Some(dead)) => Attendance::Broken(dead),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Words(Vec<AtomicU64>);

    impl Words {
        fn new(size: usize, met: u64) -> Self {
            Self((0..size).map(|_| AtomicU64::new(met << NAME_BITS)).collect())
        }

        fn at(&self, rank: usize) -> Meeting<'_> {
            Meeting::new(&self.0[rank])
        }

        fn attendance(&self, number: u64) -> Attendance {
            attendance(self.0.iter().map(Meeting::new), number)
        }
    }

    #[test]
    fn a_meeting_is_over_when_all_have_come_and_the_next_one_is_not() {
        let words = Words::new(3, 0);
        for number in 1..5 {
            assert_eq!(words.attendance(number), Attendance::Waiting);
            assert!(words.at(2).arrive() == number && words.at(0).arrive() == number);
            assert_eq!(words.attendance(number), Attendance::Waiting);
            assert!(!words.at(1).has_come(number));
            assert_eq!(words.at(1).arrive(), number);
            assert_eq!(words.attendance(number), Attendance::Complete);
            assert_eq!(words.attendance(number + 1), Attendance::Waiting);
        }
        // One rank has gone on; those that are still in the last meeting may leave it.
        assert_eq!(words.at(1).arrive(), 5);
        assert_eq!(words.attendance(4), Attendance::Complete);
        words.at(0).break_up(Rank(2));
        words.at(0).break_up(Rank(1));
        assert_eq!(words.attendance(4), Attendance::Complete, "all had come");
        assert_eq!(words.attendance(5), Attendance::Broken(Rank(2)));
        assert_eq!(words.at(0).arrive(), 5, "a name does not count");
        assert_eq!(words.attendance(5), Attendance::Broken(Rank(2)));
    }

    #[test]
    fn a_count_that_overflows_breaks_no_meeting_and_ends_none_early() {
        let last = ARRIVALS_MASK - 1;
        let words = Words::new(3, last);
        for number in [ARRIVALS_MASK, 0, 1, 2] {
            for rank in 0..3 {
                assert_eq!(words.attendance(number), Attendance::Waiting, "{number} {rank}");
                assert_eq!(words.at(rank).arrive(), number);
            }
            assert_eq!(words.attendance(number), Attendance::Complete);
            assert_eq!(words.attendance((number + 1) & ARRIVALS_MASK), Attendance::Waiting);
        }
        words.at(0).break_up(Rank(2));
        assert_eq!(words.attendance(3), Attendance::Broken(Rank(2)));
    }
}
