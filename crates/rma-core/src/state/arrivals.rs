//! Which ranks have come to the fences of a window whose ranks notify each other by packets.
//!
//! A rank that has sent the last operation of its fence's epoch says so to each of the others, behind that
//! operation and in the same lane. So when the words of all ranks have come, everything that was sent here
//! has been carried out here. Of two ranks neither needs an acknowledgement besides; of more each waits for
//! those before it sends its word (`sync/fence.rs` says why). Each rank counts the fences of each of the
//! others; a fence is over when all counts have reached its number, so an early word of the next fence ends
//! no other one (lessons, decision 4).

use crate::ids::Rank;
use smallvec::SmallVec;

/// The counts of one window.
#[derive(Debug)]
pub(crate) struct Arrivals {
    me: Rank,
    /// By rank; this one's own among them.
    ranks: SmallVec<[Count; 2]>,
}

/// Fences of one rank.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// That it has said to have come to.
    said: u64,
    /// Of which every answer owed to it before has left, so that no reply reads the window for it any more.
    come: u64,
}

impl Arrivals {
    /// No rank has come to a fence yet.
    pub(crate) fn new(me: Rank, ranks: u32) -> Self {
        Self { me, ranks: SmallVec::from_elem(Count::default(), ranks as usize) }
    }

    /// Whether the word of the one other rank is all there is to learn: then the word of a fence says what
    /// acknowledgements would.
    #[inline]
    pub(crate) fn are_of_two(&self) -> bool {
        self.ranks.len() == 2
    }

    /// This rank comes to its next fence; gives the number of it.
    pub(crate) fn enter(&mut self) -> u64 {
        let own = &mut self.ranks[self.me.0 as usize];
        *own = Count { said: own.said + 1, come: own.come + 1 };
        own.come
    }

    /// The newest fence of this rank.
    pub(crate) fn entered(&self) -> u64 {
        self.ranks[self.me.0 as usize].come
    }

    /// A rank says that it has come to its next fence.
    ///
    /// # Errors
    /// A reason for a refusal: no rank leaves a fence before this rank has come to it, so none is two fences
    /// ahead.
    pub(crate) fn begin_arrival(&mut self, rank: Rank) -> Result<(), &'static str> {
        let next = self.ranks[self.me.0 as usize].come + 1;
        let count =
            self.ranks.get_mut(rank.0 as usize).ok_or("fence of a rank outside the window's group")?;
        if rank == self.me || count.said >= next {
            return Err("fence by a process that is a whole fence ahead");
        }
        count.said += 1;
        Ok(())
    }

    /// Everything that was owed to a rank before it said so has left.
    pub(crate) fn on_arrived(&mut self, rank: Rank) {
        if let Some(count) = self.ranks.get_mut(rank.0 as usize) {
            count.come += 1;
            debug_assert!(count.come <= count.said, "an arrival is counted once");
        }
    }

    /// Whether all ranks have come to fence `number`.
    pub(crate) fn are_complete(&self, number: u64) -> bool {
        self.ranks.iter().all(|count| count.come >= number)
    }

    /// Ranks that have not come to the newest fence of this one.
    pub(crate) fn missing(&self) -> impl Iterator<Item = Rank> + '_ {
        self.behind(|count| count.come)
    }

    /// Those of them whose word has not come.
    pub(crate) fn silent(&self) -> impl Iterator<Item = Rank> + '_ {
        self.behind(|count| count.said)
    }

    fn behind(&self, at: fn(&Count) -> u64) -> impl Iterator<Item = Rank> + '_ {
        let number = self.entered();
        let ranks = (0..).map(Rank).zip(&self.ranks);
        ranks.filter(move |(_, count)| at(count) < number).map(|(rank, _)| rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(arrivals: &mut Arrivals, rank: u32) {
        arrivals.begin_arrival(Rank(rank)).unwrap();
        arrivals.on_arrived(Rank(rank));
    }

    #[test]
    fn an_early_word_of_the_next_fence_does_not_end_this_one() {
        let mut arrivals = Arrivals::new(Rank(1), 2);
        let first = arrivals.enter();
        assert_eq!(arrivals.missing().collect::<Vec<_>>(), [Rank(0)]);
        arrivals.begin_arrival(Rank(0)).unwrap();
        assert!(!arrivals.are_complete(first), "what is owed to rank 0 has not left");
        arrivals.on_arrived(Rank(0));
        assert!(arrivals.are_complete(first));
        // Rank 0 asserts that nothing precedes its next fence, and comes to it at once.
        arrive(&mut arrivals, 0);
        let second = arrivals.enter();
        assert!(arrivals.are_complete(second));
        let third = arrivals.enter();
        assert!(!arrivals.are_complete(third));
        assert_eq!(arrivals.missing().collect::<Vec<_>>(), [Rank(0)]);
    }

    #[test]
    fn a_fence_of_many_ranks_is_over_when_all_words_have_come() {
        let mut arrivals = Arrivals::new(Rank(2), 70);
        assert!(!arrivals.are_of_two() && Arrivals::new(Rank(0), 2).are_of_two());
        let number = arrivals.enter();
        for rank in (0..70).rev().filter(|rank| *rank != 2) {
            assert!(!arrivals.are_complete(number), "rank {rank} is missing");
            arrive(&mut arrivals, rank);
        }
        assert!(arrivals.are_complete(number) && arrivals.missing().next().is_none());
    }

    #[test]
    fn words_that_no_rank_of_the_window_sends_are_refused() {
        let mut arrivals = Arrivals::new(Rank(0), 2);
        assert!(arrivals.begin_arrival(Rank(0)).is_err(), "its own");
        assert!(arrivals.begin_arrival(Rank(2)).is_err(), "of no rank");
        arrivals.begin_arrival(Rank(1)).unwrap();
        assert!(arrivals.begin_arrival(Rank(1)).is_err(), "two fences ahead");
        arrivals.enter();
        arrivals.begin_arrival(Rank(1)).unwrap();
    }
}
