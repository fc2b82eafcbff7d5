//! Sizes and displacement units of other ranks' memory, as far as their answers have brought them.
//!
//! Where the ranks of a window have memory of different sizes, a rank knows its own and those of its node, which are in control blocks.
//! A target of another node puts its own into what it acknowledges and grants, and from then on a range error is the call's, not the next
//! synchronization's. What is kept follows from the targets in use, `RMA_REMOTE_KEYS` at most, and holds for the life of the window.

use super::{Flavor, ReplyBody, Shared};
use crate::ids::{Peer, Rank};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Size in bytes and displacement unit of targets' memory.
#[derive(Debug, Default)]
#[allow(clippy::box_collection)] // one word in windows that learn nothing
pub(crate) struct LearntMemory(Option<Box<BTreeMap<Rank, (u64, u64)>>>);

impl LearntMemory {
    #[inline]
    pub(crate) fn of(&self, rank: Rank) -> Option<(u64, u64)> {
        self.0.as_ref()?.get(&rank).copied()
    }

    /// A target says what its memory is; another one is forgotten where there are `most`.
    pub(crate) fn note(&mut self, most: u64, rank: Rank, size: u64, unit: u64) {
        let targets = self.0.get_or_insert_default();
        if targets.len() as u64 >= most && !targets.contains_key(&rank) {
            targets.pop_first();
        }
        if most > 0 {
            targets.insert(rank, (size, unit));
        }
    }
}

impl Shared {
    /// What an acknowledgement to `origin` brings: this process's memory, if the origin cannot know it.
    #[inline]
    pub(crate) fn memory_for(&self, origin: Peer) -> ReplyBody {
        if self.uniform.is_some() { ReplyBody::None } else { self.own_memory_for(origin) }
    }

    #[inline(never)]
    fn own_memory_for(&self, origin: Peer) -> ReplyBody {
        let is_of_node = self.group.rank(origin).is_none_or(|rank| self.node_rank(rank).is_some());
        if is_of_node || self.flavor == Flavor::Dynamic {
            return ReplyBody::None;
        }
        let own = self.own();
        let mut memory = SmallVec::new();
        memory.extend_from_slice(&(own.span.len() as u64).to_le_bytes());
        memory.extend_from_slice(&own.scale.unit().to_le_bytes());
        ReplyBody::Bytes(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_targets_are_kept_than_are_set() {
        let mut learnt = LearntMemory::default();
        for rank in [4, 9, 4, 7] {
            learnt.note(2, Rank(rank), 10 * u64::from(rank), 8);
        }
        assert_eq!([4, 9, 7].map(|rank| learnt.of(Rank(rank))), [None, Some((90, 8)), Some((70, 8))]);
        let mut none = LearntMemory::default();
        none.note(0, Rank(1), 8, 8);
        assert_eq!(none.of(Rank(1)), None);
    }
}
