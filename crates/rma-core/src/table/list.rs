//! Lists of operation elements, linked through the elements themselves: queuing allocates nothing.

use super::operation::Operation;
use super::slots::OpPool;
use crate::pool::{LocalShare, PoolKey};

/// A first-in first-out list within one pool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpList {
    ends: Option<(PoolKey, PoolKey)>,
    len: u64,
}

impl OpList {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn head(&self) -> Option<PoolKey> {
        self.ends.map(|(head, _)| head)
    }

    pub(crate) fn tail(&self) -> Option<PoolKey> {
        self.ends.map(|(_, tail)| tail)
    }

    #[inline]
    pub(crate) fn push_back(&mut self, pool: &mut OpPool, key: PoolKey) {
        pool[key].next = PoolKey::NONE;
        self.ends = Some(match self.ends {
            None => (key, key),
            Some((head, tail)) => {
                pool[tail].next = key;
                (head, key)
            }
        });
        self.len += 1;
    }

    pub(crate) fn push_front(&mut self, pool: &mut OpPool, key: PoolKey) {
        pool[key].next = self.head().unwrap_or(PoolKey::NONE);
        self.ends = Some((key, self.ends.map_or(key, |(_, tail)| tail)));
        self.len += 1;
    }

    pub(crate) fn pop_front(&mut self, pool: &mut OpPool) -> Option<PoolKey> {
        let (head, tail) = self.ends?;
        self.ends = pool[head].next.some().map(|next| (next, tail));
        self.len -= 1;
        Some(head)
    }

    /// Frees the first operation if it `is_over`; says whether it was.
    #[inline]
    pub(crate) fn free_first_if(
        &mut self,
        pool: &mut OpPool,
        share: &mut LocalShare,
        is_over: impl FnOnce(&Operation) -> bool,
    ) -> bool {
        let Some((head, tail)) = self.ends else { return false };
        let next = pool.give_back_if(share, head, |op| is_over(op).then_some(op.next));
        let Some(next) = next else { return false };
        self.ends = next.some().map(|next| (next, tail));
        self.len -= 1;
        true
    }

    /// The keys, head first.
    pub(crate) fn iter<'a>(&self, pool: &'a OpPool) -> impl Iterator<Item = PoolKey> + 'a {
        std::iter::successors(self.head(), |key| pool[*key].next.some())
    }
}
