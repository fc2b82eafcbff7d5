//! Slots: finding the target element of a rank, and walking those that exist.

use super::operation::Operation;
use super::target::Target;
use crate::ids::Rank;
use crate::pool::{GlobalPool, PoolKey};
use smallvec::SmallVec;

/// The engine's operation elements.
pub(crate) type OpPool = GlobalPool<Operation>;
/// The engine's target elements.
pub(crate) type TargetPool = GlobalPool<Target>;

/// The fixed slot array of one window.
#[derive(Debug)]
pub(crate) struct Table {
    slots: Box<[Option<PoolKey>]>,
    /// Slots with at least one target, in no order.
    used: SmallVec<[u32; 8]>,
    targets: u32,
}

impl Table {
    pub(crate) fn new(slots: usize) -> Self {
        Self { slots: vec![None; slots].into_boxed_slice(), used: SmallVec::new(), targets: 0 }
    }

    /// Number of target elements.
    pub(crate) fn len(&self) -> u32 {
        self.targets
    }

    /// The element of `rank`, if it has one.
    #[inline]
    pub(crate) fn find(&self, pool: &TargetPool, rank: Rank) -> Option<PoolKey> {
        let mut at = self.slots[self.slot_of(rank)];
        // Mostly it is the first: the next one is looked up only where it is not.
        while let Some(target) = at.map(|key| &pool[key])
            && target.rank != rank
        {
            at = target.next;
        }
        at
    }

    /// Whether any element owes something.
    pub(crate) fn is_busy(&self, pool: &TargetPool) -> bool {
        self.each(pool).any(|key| !pool[key].is_idle())
    }

    /// Whether a target wants more than to have one operation held back.
    pub(crate) fn has_due(&self, pool: &TargetPool, ops: &OpPool) -> bool {
        self.each(pool).any(|key| !pool[key].is_idle() && !pool[key].only_holds(ops))
    }

    /// [`Table::is_busy`] but for the elements of these ranks.
    pub(crate) fn is_busy_but(&self, pool: &TargetPool, is_one: impl Fn(Rank) -> bool) -> bool {
        self.each(pool).any(|key| !is_one(pool[key].rank) && !pool[key].is_idle())
    }

    /// Adds an element that is not in the table yet.
    pub(crate) fn insert(&mut self, pool: &mut TargetPool, key: PoolKey) {
        let slot = self.slot_of(pool[key].rank);
        if self.slots[slot].is_none() {
            self.used.push(slot as u32);
        }
        pool[key].next = self.slots[slot].replace(key);
        self.targets += 1;
    }

    /// Takes an element out of its slot; the caller frees it.
    pub(crate) fn remove(&mut self, pool: &mut TargetPool, key: PoolKey) {
        let slot = self.slot_of(pool[key].rank);
        let after = pool[key].next.take();
        if self.slots[slot] == Some(key) {
            self.slots[slot] = after;
            if after.is_none() {
                self.used.retain(|used| *used as usize != slot);
            }
        } else {
            let before = self.chain(pool, slot).find(|k| pool[*k].next == Some(key));
            pool[before.expect("an element of the table is in the chain of its slot")].next = after;
        }
        self.targets -= 1;
    }

    /// The keys of all elements: one per slot in turn would be fairer for long chains, but issue goes round-robin over
    /// this list anyway.
    pub(crate) fn keys(&self, pool: &TargetPool) -> SmallVec<[PoolKey; 16]> {
        self.each(pool).collect()
    }

    fn each<'a>(&'a self, pool: &'a TargetPool) -> impl Iterator<Item = PoolKey> + 'a {
        self.used.iter().flat_map(|slot| self.chain(pool, *slot as usize))
    }

    fn slot_of(&self, rank: Rank) -> usize {
        let (rank, slots) = (rank.0 as usize, self.slots.len());
        // A division takes as long as the rest of the search.
        if rank < slots { rank } else { rank % slots }
    }

    fn chain<'a>(&self, pool: &'a TargetPool, slot: usize) -> impl Iterator<Item = PoolKey> + 'a {
        std::iter::successors(self.slots[slot], |key| pool[*key].next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Peer;

    #[test]
    fn targets_are_found_whatever_the_number_of_slots() {
        for slots in [1, 2, 7] {
            let mut pool = TargetPool::new(100);
            let mut share = pool.open_share(1).unwrap();
            let mut table = Table::new(slots);
            for rank in 0..20 {
                let key = pool.take(&mut share, Target::new(Rank(rank), Peer(rank))).unwrap();
                table.insert(&mut pool, key);
            }
            for rank in (0..20).filter(|r| r % 3 == 0) {
                let key = table.find(&pool, Rank(rank)).unwrap();
                table.remove(&mut pool, key);
                pool.put_back(&mut share, key);
            }
            let mut left = table.keys(&pool).into_iter().map(|k| pool[k].rank.0).collect::<Vec<_>>();
            left.sort_unstable();
            assert_eq!(left, (0..20).filter(|r| r % 3 != 0).collect::<Vec<_>>());
            assert_eq!(table.len() as usize, left.len());
            for rank in 0..20 {
                assert_eq!(table.find(&pool, Rank(rank)).is_some(), rank % 3 != 0, "rank {rank}");
            }
        }
    }
}
