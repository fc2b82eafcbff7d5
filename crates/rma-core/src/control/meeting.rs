//! Meetings of all ranks of a window in one word of shared memory: a barrier that costs each rank one atomic addition.
//!
//! The word counts arrivals. Every rank arrives once for each meeting, so meeting number `n` of `size` ranks is over when
//! `n * size` have arrived; whoever goes on to the next meeting only adds to the count. A rank that finds another one dead
//! breaks the meeting: the word then names the dead rank, for everybody and for good.
//!
//! The count stands in the upper bits, so that what it overflows with after 2⁴⁰ arrivals (two weeks of fences of 1 µs) is
//! gone and names nobody. All comparisons are modulo 2⁴⁰: two counts are never further apart than two meetings.
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

/// The word, as one rank uses it.
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

    /// Arrives at meeting `number`, from 1, of `size` ranks; answers whether this rank was the last, who rings those who sleep.
    #[inline]
    pub fn arrive(self, number: u64, size: u32) -> bool {
        // SYNC POINT meeting: publishes what this rank did before, and sees what those did who came before.
        let before = self.0.fetch_add(ONE_ARRIVAL, SeqCst) >> NAME_BITS;
        (before + 1).wrapping_sub(number.wrapping_mul(size.into())) & ARRIVALS_MASK == 0
    }

    /// How far meeting `number`, from 1, of `size` ranks is.
    #[inline]
    pub fn attendance(self, number: u64, size: u32) -> Attendance {
        // SYNC POINT meeting: sees what every rank did before it arrived.
        let word = self.0.load(SeqCst);
        let ahead = (word >> NAME_BITS).wrapping_sub(number.wrapping_mul(size.into())) & ARRIVALS_MASK;
        if ahead < ARRIVALS_MASK / 2 {
            return Attendance::Complete;
        }
        match (word & NAME_MASK).checked_sub(1) {
            None => Attendance::Waiting,
            Some(dead) => Attendance::Broken(Rank(dead as u32)),
        }
    }

    /// Says that a rank is dead, unless another one is said to be. Ranks past what the word can hold are named by the last.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_meeting_is_over_when_all_have_come_and_the_next_one_is_not() {
        let word = AtomicU64::new(0);
        let meeting = Meeting::new(&word);
        for number in 1..5 {
            assert_eq!(meeting.attendance(number, 3), Attendance::Waiting);
            assert!(!meeting.arrive(number, 3) && !meeting.arrive(number, 3));
            assert_eq!(meeting.attendance(number, 3), Attendance::Waiting);
            assert!(meeting.arrive(number, 3));
            assert_eq!(meeting.attendance(number, 3), Attendance::Complete);
            assert_eq!(meeting.attendance(number + 1, 3), Attendance::Waiting);
        }
        // Somebody has gone on; those who are still in the last one may leave it.
        assert!(!meeting.arrive(5, 3));
        assert_eq!(meeting.attendance(4, 3), Attendance::Complete);
        meeting.break_up(Rank(2));
        meeting.break_up(Rank(1));
        assert_eq!(meeting.attendance(4, 3), Attendance::Complete, "all had come");
        assert_eq!(meeting.attendance(5, 3), Attendance::Broken(Rank(2)));
        assert!(!meeting.arrive(5, 3));
        assert_eq!(meeting.attendance(5, 3), Attendance::Broken(Rank(2)));
    }

    #[test]
    fn a_count_that_overflows_breaks_no_meeting_and_ends_none_early() {
        // Sizes that divide no power of two, so that meetings lie across the overflow.
        for size in [3u32, 5, 7] {
            let met = (1 << 40) / u64::from(size);
            let word = AtomicU64::new((met * u64::from(size)) << NAME_BITS);
            let meeting = Meeting::new(&word);
            for number in met + 1..met + 4 {
                for rank in 1..=size {
                    assert_eq!(meeting.attendance(number, size), Attendance::Waiting, "{size} {rank}");
                    assert_eq!(meeting.arrive(number, size), rank == size);
                }
                assert_eq!(meeting.attendance(number, size), Attendance::Complete);
                assert_eq!(meeting.attendance(number + 1, size), Attendance::Waiting);
            }
            meeting.break_up(Rank(size - 1));
            assert_eq!(meeting.attendance(met + 4, size), Attendance::Broken(Rank(size - 1)));
        }
    }
}
