//! The pool itself: storage that grows on demand, the global level's count, and the numbers a user sees.
//!
//! Invariants (checked by [`GlobalPool::invariants`]): an element belongs to the share that took it; the
//! elements in storage are those the shares count; the global level lends at most its cap; the storage never
//! holds more slots than were in use at once, so an unused pool owns no memory.

use super::key::PoolKey;
use super::share::{Level, LocalShare};
use std::fmt;
use std::ops::{Index, IndexMut};

/// Elements of type `T` for all windows of one engine.
pub struct GlobalPool<T> {
    slots: Vec<ElementSlot<T>>,
    first_free: u32,
    global_cap: u32,
    global_used: u32,
    reserved: u32,
    next_share: u32,
    stats: PoolStats,
}

struct ElementSlot<T> {
    generation: u32,
    state: SlotState<T>,
}

enum SlotState<T> {
    Free { next: u32 },
    Used { share: u32, value: T },
}

/// End of the list of free slots; no slot has this index.
const NONE: u32 = u32::MAX;

/// Neither the window's share nor the global level has an element left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// What a pool has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Elements in use now.
    pub in_use: u32,
    /// Most elements in use at once.
    pub high_water: u32,
    /// How often an element was wanted and none was left.
    pub exhausted: u64,
}

impl<T> GlobalPool<T> {
    /// A pool whose windows may borrow `global_cap` elements between them, beyond their shares. Allocates nothing.
    pub fn new(global_cap: u32) -> Self {
        Self {
            slots: Vec::new(),
            first_free: NONE,
            global_cap,
            global_used: 0,
            reserved: 0,
            next_share: 0,
            stats: PoolStats::default(),
        }
    }

    /// Reserves elements for a window. Allocates nothing.
    ///
    /// # Errors
    /// When all shares and the global level together would need more than 32-bit indices.
    pub fn open_share(&mut self, reserved: u32) -> Result<LocalShare, Exhausted> {
        let total = self.reserved.checked_add(reserved).ok_or(Exhausted)?;
        // As many slots as a `u32` can count have the indices below `NONE`.
        total.checked_add(self.global_cap).ok_or(Exhausted)?;
        self.reserved = total;
        self.next_share = self.next_share.wrapping_add(1);
        Ok(LocalShare::new(self.next_share, reserved))
    }

    /// Gives a share back.
    ///
    /// # Errors
    /// The share itself, while elements taken with it are in use.
    pub fn close_share(&mut self, share: LocalShare) -> Result<(), LocalShare> {
        if share.in_use() > 0 {
            return Err(share);
        }
        self.reserved -= share.reserved();
        Ok(())
    }

    /// Whether [`GlobalPool::take`] would succeed.
    #[inline]
    pub fn can_take(&self, share: &LocalShare) -> bool {
        share.has_own() || self.global_used < self.global_cap
    }

    /// Puts `value` into an element of the window's share, or of the global level when the share is used up.
    ///
    /// # Errors
    /// When both are used up; `value` is dropped, so callers that need it back ask [`GlobalPool::can_take`] first.
    #[inline(always)] // the value is made where it lies then
    pub fn take(&mut self, share: &mut LocalShare, value: T) -> Result<PoolKey, Exhausted> {
        if !self.can_take(share) {
            self.stats.on_exhausted();
            return Err(Exhausted);
        }
        if share.charge() == Level::Global {
            self.global_used += 1;
        }
        self.stats.on_take();
        Ok(self.insert(share.id(), value))
    }

    /// The key of the element that [`GlobalPool::take`] takes next.
    #[inline]
    pub(crate) fn next_key(&self) -> PoolKey {
        match self.slots.get(self.first_free as usize) {
            Some(slot) => PoolKey { index: self.first_free, generation: slot.next_generation() },
            None => PoolKey { index: self.slots.len() as u32, generation: 1 },
        }
    }

    /// [`GlobalPool::take`], beyond the sizes of the pool if need be: for operations that have to move before
    /// the holders of all elements can give any back. The caller sees to it that these are few.
    ///
    /// # Errors
    /// When there are as many elements as an index can count.
    pub fn take_extra(&mut self, share: &mut LocalShare, value: T) -> Result<PoolKey, Exhausted> {
        if self.can_take(share) || self.first_free == NONE && self.slots.len() >= NONE as usize {
            return self.take(share, value);
        }
        share.charge_extra();
        self.stats.on_take();
        Ok(self.insert(share.id(), value))
    }

    /// Takes the value out and returns the element, to the window's share unless that is full. `None`, and no change,
    /// for a stale key and for an element that another share took.
    #[inline]
    pub fn put_back(&mut self, share: &mut LocalShare, key: PoolKey) -> Option<T> {
        let next = self.first_free;
        let state = std::mem::replace(self.used(share, key)?, SlotState::Free { next });
        self.on_returned(share, key);
        match state {
            SlotState::Used { value, .. } => Some(value),
            SlotState::Free { .. } => None,
        }
    }

    /// [`GlobalPool::put_back`] of a value that is not wanted: it is dropped where it lies. Says whether
    /// there was one.
    #[inline]
    pub fn give_back(&mut self, share: &mut LocalShare, key: PoolKey) -> bool {
        let next = self.first_free;
        let Some(state) = self.used(share, key) else { return false };
        *state = SlotState::Free { next };
        self.on_returned(share, key);
        true
    }

    /// [`GlobalPool::give_back`] of a value of which only what `last` finds is still wanted; one of which it
    /// finds `None` stays.
    #[inline]
    pub(crate) fn give_back_if<R>(
        &mut self,
        share: &mut LocalShare,
        key: PoolKey,
        last: impl FnOnce(&T) -> Option<R>,
    ) -> Option<R> {
        let next = self.first_free;
        let state = self.used(share, key)?;
        let SlotState::Used { value, .. } = state else { return None };
        let found = last(value)?;
        *state = SlotState::Free { next };
        self.on_returned(share, key);
        Some(found)
    }

    /// The element of a key; `None` when the key is stale.
    #[inline]
    pub fn get(&self, key: PoolKey) -> Option<&T> {
        match self.slots.get(key.index as usize)? {
            ElementSlot { generation, state: SlotState::Used { value, .. } }
                if *generation == key.generation =>
            {
                Some(value)
            }
            _ => None,
        }
    }

    /// The element of a key; `None` when the key is stale.
    #[inline]
    pub fn get_mut(&mut self, key: PoolKey) -> Option<&mut T> {
        match self.slots.get_mut(key.index as usize)? {
            ElementSlot { generation, state: SlotState::Used { value, .. } }
                if *generation == key.generation =>
            {
                Some(value)
            }
            _ => None,
        }
    }

    /// All elements in use, by index.
    pub fn iter(&self) -> impl Iterator<Item = (PoolKey, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| match &slot.state {
            SlotState::Used { value, .. } => {
                Some((PoolKey { index: index as u32, generation: slot.generation }, value))
            }
            SlotState::Free { .. } => None,
        })
    }

    /// What the pool has seen.
    pub fn stats(&self) -> PoolStats {
        self.stats
    }

    /// Slots allocated so far, used and free.
    pub fn allocated(&self) -> usize {
        self.slots.len()
    }

    /// Recomputes every count from the storage and from all open shares; for tests.
    ///
    /// # Errors
    /// A sentence about the first count that is wrong.
    pub fn invariants<'a>(&self, shares: impl IntoIterator<Item = &'a LocalShare>) -> Result<(), String> {
        let (mut reserved, mut borrowed, mut held) = (0u64, 0u64, 0u64);
        for share in shares {
            let owned = self.slots.iter().filter(|s| s.owner() == Some(share.id())).count() as u64;
            equal("elements of a share", owned, share.in_use().into())?;
            at_most("a window's own elements", share.own_used(), share.reserved())?;
            reserved += u64::from(share.reserved());
            borrowed += u64::from(share.borrowed());
            held += u64::from(share.in_use());
        }
        let used = self.slots.iter().filter(|s| s.owner().is_some()).count();
        equal("reserved elements", reserved, self.reserved.into())?;
        equal("borrowed elements", borrowed, self.global_used.into())?;
        equal("elements in use", used as u64, held)?;
        equal("counted elements in use", u64::from(self.stats.in_use), held)?;
        equal("free slots", self.free_len()? as u64, (self.slots.len() - used) as u64)?;
        equal("slots", self.slots.len() as u64, self.stats.high_water.into())?;
        at_most("borrowed elements", self.global_used, self.global_cap)
    }

    /// The state of an element that this share has taken.
    #[inline]
    fn used(&mut self, share: &LocalShare, key: PoolKey) -> Option<&mut SlotState<T>> {
        let slot = self.slots.get_mut(key.index as usize)?;
        match slot.state {
            SlotState::Used { share: id, .. } if slot.generation == key.generation && id == share.id() => {
                Some(&mut slot.state)
            }
            _ => None,
        }
    }

    /// The element, which is linked to the first free one, is that now, and counts no more.
    #[inline]
    fn on_returned(&mut self, share: &mut LocalShare, key: PoolKey) {
        self.first_free = key.index;
        if share.credit() == Level::Global {
            self.global_used -= 1;
        }
        self.stats.on_put_back();
    }

    #[inline(always)]
    fn insert(&mut self, share: u32, value: T) -> PoolKey {
        let index = self.first_free;
        let Some(slot) = self.slots.get_mut(index as usize) else { return self.insert_new(share, value) };
        if let SlotState::Free { next } = slot.state {
            self.first_free = next;
        }
        slot.generation = slot.next_generation();
        slot.state = SlotState::Used { share, value };
        PoolKey { index, generation: slot.generation }
    }

    /// There is no free slot, but an index left, since `open_share` bounds the elements in use.
    #[cold]
    fn insert_new(&mut self, share: u32, value: T) -> PoolKey {
        self.slots.push(ElementSlot { generation: 1, state: SlotState::Used { share, value } });
        PoolKey { index: (self.slots.len() - 1) as u32, generation: 1 }
    }

    fn free_len(&self) -> Result<usize, String> {
        let (mut len, mut at) = (0, self.first_free);
        while at != NONE {
            match self.slots.get(at as usize) {
                Some(ElementSlot { state: SlotState::Free { next }, .. }) if len < self.slots.len() => {
                    at = *next
                }
                _ => return Err(format!("the list of free slots is broken at slot {at}")),
            }
            len += 1;
        }
        Ok(len)
    }
}

impl<T> ElementSlot<T> {
    #[inline]
    fn next_generation(&self) -> u32 {
        self.generation.checked_add(1).unwrap_or(1)
    }

    fn owner(&self) -> Option<u32> {
        match self.state {
            SlotState::Used { share, .. } => Some(share),
            SlotState::Free { .. } => None,
        }
    }
}

impl PoolStats {
    fn on_take(&mut self) {
        self.in_use += 1;
        self.high_water = self.high_water.max(self.in_use);
    }

    fn on_put_back(&mut self) {
        self.in_use -= 1;
    }

    fn on_exhausted(&mut self) {
        self.exhausted += 1;
    }
}

/// The element of a key that the caller knows to be live: one that stands in a list of its own.
///
/// # Panics
/// When the key is stale. Keys from outside go through [`GlobalPool::get`].
impl<T> Index<PoolKey> for GlobalPool<T> {
    type Output = T;

    #[inline]
    fn index(&self, key: PoolKey) -> &T {
        self.get(key).expect("a key in a list names a live element")
    }
}

impl<T> IndexMut<PoolKey> for GlobalPool<T> {
    #[inline]
    fn index_mut(&mut self, key: PoolKey) -> &mut T {
        self.get_mut(key).expect("a key in a list names a live element")
    }
}

impl<T> fmt::Debug for GlobalPool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("global_cap", &self.global_cap)
            .field("global_used", &self.global_used)
            .field("reserved", &self.reserved)
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no pool element left")
    }
}

impl std::error::Error for Exhausted {}

fn equal(what: &str, found: u64, counted: u64) -> Result<(), String> {
    if found == counted { Ok(()) } else { Err(format!("{what}: {found} found, {counted} counted")) }
}

fn at_most(what: &str, value: u32, limit: u32) -> Result<(), String> {
    if value <= limit { Ok(()) } else { Err(format!("{what}: {value} exceed {limit}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::RequestId;

    #[test]
    fn the_share_is_used_first_and_refilled_first() {
        let mut pool = GlobalPool::new(2);
        let mut share = pool.open_share(1).unwrap();
        let keys = ["a", "b", "c"].map(|v| pool.take(&mut share, v).unwrap());
        assert_eq!((share.in_use(), share.borrowed()), (3, 2));
        assert_eq!(pool.take(&mut share, "d"), Err(Exhausted));
        assert_eq!(pool.put_back(&mut share, keys[2]), Some("c"));
        assert_eq!(
            (share.in_use(), share.borrowed()),
            (2, 2),
            "the element went to the window, not to the others"
        );
        assert_eq!(pool.put_back(&mut share, keys[0]), Some("a"));
        assert_eq!((share.in_use(), share.borrowed()), (1, 1), "the window was full");
        assert_eq!(pool.get(keys[1]), Some(&"b"));
        assert_eq!(pool.stats(), PoolStats { in_use: 1, high_water: 3, exhausted: 1 });
        pool.invariants([&share]).unwrap();
        let share = pool.close_share(share).unwrap_err();
        assert_eq!(share.in_use(), 1, "a share in use cannot be closed");
    }

    #[test]
    fn the_next_key_is_known_before_the_element_is_taken() {
        let mut pool = GlobalPool::new(3);
        let mut share = pool.open_share(0).unwrap();
        let mut keys = Vec::new();
        for round in 0..20 {
            let next = pool.next_key();
            assert_eq!(pool.take(&mut share, round), Ok(next));
            assert_eq!(pool.get(next), Some(&round));
            keys.push(next);
            // New slots and slots used before, in any order.
            while keys.len() > round as usize % 3 {
                let key = keys.swap_remove(round as usize % keys.len());
                assert_eq!(pool.give_back_if(&mut share, key, |_| None::<()>), None);
                assert!(pool.get(key).is_some(), "what is not over stays");
                let value = pool.get(key).copied();
                assert_eq!(pool.give_back_if(&mut share, key, |value| Some(*value)), value);
                assert_eq!(pool.get(key), None);
            }
        }
        pool.invariants([&share]).unwrap();
    }

    #[test]
    fn extra_elements_are_counted_and_given_back_first() {
        let mut pool = GlobalPool::new(1);
        let mut share = pool.open_share(1).unwrap();
        let keys = ["own", "global", "extra", "extra"].map(|v| pool.take_extra(&mut share, v).unwrap());
        assert_eq!((share.in_use(), share.borrowed(), pool.can_take(&share)), (4, 1, false));
        pool.invariants([&share]).unwrap();
        assert_eq!(pool.put_back(&mut share, keys[0]), Some("own"));
        assert_eq!(pool.put_back(&mut share, keys[1]), Some("global"));
        assert!(!pool.can_take(&share), "what was taken beyond the sizes of the pool is not there again");
        pool.invariants([&share]).unwrap();
        assert_eq!(pool.put_back(&mut share, keys[2]), Some("extra"));
        assert!(pool.can_take(&share));
        assert_eq!(pool.put_back(&mut share, keys[3]), Some("extra"));
        assert_eq!((share.in_use(), share.borrowed()), (0, 0));
        pool.invariants([&share]).unwrap();
    }

    #[test]
    fn a_window_cannot_starve_another_at_the_smallest_sizes() {
        let mut pool = GlobalPool::new(0);
        let (mut greedy, mut modest) = (pool.open_share(1).unwrap(), pool.open_share(1).unwrap());
        let held = pool.take(&mut greedy, 1).unwrap();
        assert!(!pool.can_take(&greedy));
        assert_eq!(pool.take(&mut greedy, 2), Err(Exhausted));
        let key = pool.take(&mut modest, 3).unwrap();
        assert_eq!((pool.get(held), pool.get(key)), (Some(&1), Some(&3)));
        assert_eq!(pool.put_back(&mut greedy, key), None, "an element goes back to the share that took it");
        assert_eq!(pool.get(key), Some(&3));
        assert_eq!(pool.put_back(&mut modest, key), Some(3));
        pool.close_share(modest).unwrap();
        pool.invariants([&greedy]).unwrap();
    }

    #[test]
    fn an_unwanted_value_is_dropped_once_and_by_its_share_alone() {
        let mut pool = GlobalPool::new(0);
        let (mut share, mut other) = (pool.open_share(1).unwrap(), pool.open_share(1).unwrap());
        let value = std::sync::Arc::new(());
        let key = pool.take(&mut share, value.clone()).unwrap();
        assert!(!pool.give_back(&mut other, key));
        assert_eq!(std::sync::Arc::strong_count(&value), 2);
        assert!(pool.give_back(&mut share, key));
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
        pool.invariants([&share, &other]).unwrap();
    }

    #[test]
    fn stale_and_forged_keys_find_nothing() {
        let mut pool = GlobalPool::new(0);
        let mut share = pool.open_share(2).unwrap();
        let old = pool.take(&mut share, 1).unwrap();
        assert_eq!(pool.put_back(&mut share, old), Some(1));
        assert_eq!(pool.get(old), None, "the slot is free");
        let new = pool.take(&mut share, 2).unwrap();
        assert_eq!((new.index, pool.get(old)), (old.index, None), "the slot is used again");
        assert_eq!(pool.put_back(&mut share, old), None);
        for index in [0, 1, 2, NONE] {
            for generation in [0, old.generation, u32::MAX] {
                assert_eq!(pool.get_mut(PoolKey { index, generation }), None);
            }
        }
        *pool.get_mut(over_the_wire(new)).unwrap() = 5;
        assert_eq!(pool.get(new), Some(&5));
        pool.invariants([&share]).unwrap();
    }

    fn over_the_wire(key: PoolKey) -> PoolKey {
        RequestId::from_bits(RequestId::from(key).to_bits()).into()
    }

    #[test]
    fn generations_wrap_past_zero() {
        let mut pool = GlobalPool::new(0);
        let mut share = pool.open_share(1).unwrap();
        let key = pool.take(&mut share, ()).unwrap();
        pool.slots[0].generation = u32::MAX;
        assert_eq!(pool.put_back(&mut share, key), None);
        let last = PoolKey { index: 0, generation: u32::MAX };
        assert_eq!(pool.put_back(&mut share, last), Some(()));
        assert_eq!(pool.take(&mut share, ()), Ok(PoolKey { index: 0, generation: 1 }));
    }

    #[test]
    fn nothing_is_allocated_before_use_and_shares_fit_the_index() {
        let mut pool = GlobalPool::<[u64; 16]>::new(1 << 28);
        let share = pool.open_share(1 << 24).unwrap();
        assert_eq!((pool.slots.capacity(), pool.allocated()), (0, 0));
        assert_eq!(pool.open_share(u32::MAX - 1).unwrap_err(), Exhausted);
        pool.close_share(share).unwrap();
        let rest = pool.open_share(u32::MAX - (1 << 28)).unwrap();
        assert!(pool.open_share(1).is_err());
        pool.close_share(rest).unwrap();
        pool.invariants([]).unwrap();
    }

    #[test]
    fn counts_hold_over_a_random_run() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        let mut pool = GlobalPool::new(3);
        let mut shares = [1, 2, 5].map(|reserved| pool.open_share(reserved).unwrap());
        let mut live: Vec<(usize, PoolKey, u64)> = Vec::new();
        for step in 0..5_000 {
            let owner = random(3) as usize;
            if random(2) == 0 {
                let expected = pool.can_take(&shares[owner]);
                let taken = pool.take(&mut shares[owner], step);
                assert_eq!(taken.is_ok(), expected, "step {step}");
                live.extend(taken.map(|key| (owner, key, step)));
            } else if !live.is_empty() {
                let (owner, key, value) = live.swap_remove(random(live.len() as u64) as usize);
                if random(2) == 0 {
                    assert_eq!(pool.put_back(&mut shares[owner], key), Some(value), "step {step}");
                } else {
                    assert!(pool.give_back(&mut shares[owner], key), "step {step}");
                }
                assert!(!pool.give_back(&mut shares[owner], key), "step {step}: twice");
            }
            pool.invariants(&shares).unwrap_or_else(|e| panic!("step {step}: {e}"));
            assert!(live.iter().all(|(_, key, value)| pool.get(*key) == Some(value)), "step {step}");
            assert_eq!(pool.iter().count(), live.len());
        }
        assert_eq!(pool.stats().high_water, 3 + 1 + 2 + 5);
        assert!(pool.stats().exhausted > 0);
    }
}
