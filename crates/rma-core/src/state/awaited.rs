//! A group of ranks of which some are awaited: those of start that have not posted, those of post that are not done.
//!
//! It is used with each packet of general active target synchronization, so it is a bit for each rank of the
//! group: found by halving, and small groups allocate nothing.

use crate::ids::Rank;
use smallvec::SmallVec;

/// Ranks of a group, ascending, and which of them are awaited.
#[derive(Debug, Default)]
pub(crate) struct AwaitedRanks {
    group: SmallVec<[Rank; 8]>,
    /// A bit for each rank of the group.
    awaited: SmallVec<[u64; 1]>,
    left: usize,
}

impl AwaitedRanks {
    /// Takes a group, ascending, of which every rank is awaited that `is_awaited`.
    pub(crate) fn open(&mut self, group: &[Rank], mut is_awaited: impl FnMut(Rank) -> bool) {
        debug_assert!(group.windows(2).all(|pair| pair[0] < pair[1]), "a group is in order");
        self.clear();
        self.group.extend(group.iter().copied());
        for ranks in group.chunks(64) {
            let bit = |(place, rank): (usize, &Rank)| u64::from(is_awaited(*rank)) << place;
            let word = ranks.iter().enumerate().map(bit).sum::<u64>();
            self.awaited.push(word);
            self.left += word.count_ones() as usize;
        }
    }

    /// Forgets the group.
    pub(crate) fn clear(&mut self) {
        self.group.clear();
        self.awaited.clear();
        self.left = 0;
    }

    /// All ranks of the group, ascending.
    pub(crate) fn group(&self) -> &[Rank] {
        &self.group
    }

    /// Whether the rank is in the group.
    pub(crate) fn contains(&self, rank: Rank) -> bool {
        self.place(rank).is_some()
    }

    /// Whether any rank is awaited.
    pub(crate) fn is_any_left(&self) -> bool {
        self.left > 0
    }

    /// Whether the rank is awaited.
    pub(crate) fn is_awaited(&self, rank: Rank) -> bool {
        self.place(rank).is_some_and(|place| self.has(place))
    }

    /// The rank is awaited no more; says whether it was.
    pub(crate) fn remove(&mut self, rank: Rank) -> bool {
        let Some(place) = self.place(rank).filter(|place| self.has(*place)) else { return false };
        self.awaited[place / 64] &= !(1 << (place % 64));
        self.left -= 1;
        true
    }

    /// The ranks that are awaited, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Rank> + '_ {
        // Most often the set is empty, and then nothing is looked through.
        let group = if self.left > 0 { &self.group[..] } else { &[] };
        group.iter().enumerate().filter(|(place, _)| self.has(*place)).map(|(_, rank)| *rank)
    }

    fn place(&self, rank: Rank) -> Option<usize> {
        self.group.binary_search(&rank).ok()
    }

    fn has(&self, place: usize) -> bool {
        self.awaited[place / 64] & (1 << (place % 64)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_of_a_group_is_awaited_until_it_is_taken_off() {
        let group = (0..200).map(|i| Rank(3 * i)).collect::<Vec<_>>();
        let mut awaited = AwaitedRanks::default();
        for _ in 0..2 {
            awaited.open(&group, |rank| rank != Rank(30));
            assert_eq!((awaited.group(), awaited.iter().count()), (&group[..], 199));
            assert!(awaited.contains(Rank(30)) && !awaited.is_awaited(Rank(30)) && !awaited.remove(Rank(30)));
            assert!(
                !awaited.contains(Rank(31)) && !awaited.remove(Rank(31)) && !awaited.is_awaited(Rank(31))
            );
            for rank in group.iter().filter(|rank| **rank != Rank(30)) {
                assert!(awaited.is_any_left() && awaited.iter().next() == Some(*rank));
                assert!(awaited.is_awaited(*rank) && awaited.remove(*rank) && !awaited.remove(*rank));
            }
            assert!(!awaited.is_any_left() && awaited.iter().next().is_none());
        }
        awaited.clear();
        assert!(awaited.group().is_empty() && !awaited.contains(Rank(0)));
    }
}
