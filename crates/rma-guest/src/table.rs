//! What of this project's library stands for which object of the host: found in a few instructions, by any thread, without a lock.
//!
//! A record is key and value. All records are in a map under a lock; in front of it lies a small array of the last ones, each key with
//! one place. Records are used again, but their memory is never given back, so that a reader may hold one that is being
//! removed. Invariant: while a record has a key, its value is that key's. A program that frees an object while another thread uses it is
//! wrong (MPI 5.0 §2.5.1), so no thread looks for a key that is being removed.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// No handle of a host.
const NO_KEY: usize = usize::MAX;

/// A key and its value.
#[derive(Debug)]
struct Record {
    /// [`NO_KEY`] while it is unused.
    key: AtomicUsize,
    value: AtomicUsize,
}

impl Record {
    const fn unused() -> Self {
        Self { key: AtomicUsize::new(NO_KEY), value: AtomicUsize::new(0) }
    }
}

/// A table of up to any number of records, the last `PLACES` of which are found at once.
#[derive(Debug)]
pub(crate) struct Table<const PLACES: usize> {
    places: [AtomicPtr<Record>; PLACES],
    all: Mutex<All>,
    len: AtomicUsize,
}

#[derive(Debug)]
struct All {
    records: FxHashMap<usize, &'static Record>,
    unused: Vec<&'static Record>,
}

impl<const PLACES: usize> Table<PLACES> {
    pub(crate) const fn new() -> Self {
        const { assert!(PLACES.is_power_of_two() && PLACES > 1) };
        Self {
            places: [const { AtomicPtr::new(null_mut()) }; PLACES],
            all: Mutex::new(All {
                records: FxHashMap::with_hasher(rustc_hash::FxBuildHasher),
                unused: Vec::new(),
            }),
            len: AtomicUsize::new(0),
        }
    }

    /// The value of a key.
    #[inline(always)]
    pub(crate) fn find(&self, key: usize) -> Option<usize> {
        match self.find_in_place(key) {
            None if self.len.load(Relaxed) != 0 => self.find_slowly(key),
            found => found,
        }
    }

    #[inline(always)]
    fn find_in_place(&self, key: usize) -> Option<usize> {
        // SYNC POINT table: what was stored before a record got into its place.
        let record = self.places[place_of::<PLACES>(key)].load(Acquire);
        // SAFETY: memory of records is never given back.
        let record = unsafe { record.as_ref() }?;
        (record.key.load(Acquire) == key).then(|| record.value.load(Relaxed))
    }

    #[cold]
    #[inline(never)]
    fn find_slowly(&self, key: usize) -> Option<usize> {
        let all = self.all.lock();
        let record: &'static Record = all.records.get(&key)?;
        self.place(key, record);
        Some(record.value.load(Relaxed))
    }

    /// Enters a key; one that is there gets a new value.
    pub(crate) fn insert(&self, key: usize, value: usize) {
        let mut all = self.all.lock();
        let all = &mut *all;
        let record = *all
            .records
            .entry(key)
            .or_insert_with(|| all.unused.pop().unwrap_or_else(|| Box::leak(Box::new(Record::unused()))));
        record.value.store(value, Relaxed);
        record.key.store(key, Release);
        self.len.store(all.records.len(), Relaxed);
        self.place(key, record);
    }

    /// Takes a key out; answers its value.
    pub(crate) fn remove(&self, key: usize) -> Option<usize> {
        self.take(key, |_| true)
    }

    /// Takes a key out if it has this value.
    pub(crate) fn remove_if(&self, key: usize, value: usize) {
        self.take(key, |found| found == value);
    }

    fn take(&self, key: usize, is_it: impl FnOnce(usize) -> bool) -> Option<usize> {
        let mut all = self.all.lock();
        if !is_it(all.records.get(&key)?.value.load(Relaxed)) {
            return None;
        }
        let record = all.records.remove(&key)?;
        self.len.store(all.records.len(), Relaxed);
        record.key.store(NO_KEY, Release);
        let value = record.value.load(Relaxed);
        all.unused.push(record);
        Some(value)
    }

    /// The key of a value, found by a look at all.
    pub(crate) fn key_of(&self, value: usize) -> Option<usize> {
        let all = self.all.lock();
        let mut records = all.records.iter();
        records.find(|(_, record)| record.value.load(Relaxed) == value).map(|(key, _)| *key)
    }

    /// All keys and values.
    pub(crate) fn all(&self) -> Vec<(usize, usize)> {
        let all = self.all.lock();
        all.records.iter().map(|(key, record)| (*key, record.value.load(Relaxed))).collect()
    }

    /// Number of keys.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    fn place(&self, key: usize, record: &'static Record) {
        // SYNC POINT table: the record's contents go with it.
        self.places[place_of::<PLACES>(key)].store(std::ptr::from_ref(record).cast_mut(), Release);
    }
}

/// The place of a key: handles of one kind differ in low bits, or are addresses of structures of one size.
#[inline(always)]
const fn place_of<const PLACES: usize>(key: usize) -> usize {
    let spread = (key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (spread >> (64 - PLACES.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn what_was_removed_is_not_found_and_its_record_is_used_again() {
        let table = Table::<2>::new();
        for key in 1..=100 {
            table.insert(key, key * 10);
        }
        assert!((1..=100).all(|key| table.find(key) == Some(key * 10)));
        assert_eq!(table.remove(7), Some(70));
        assert_eq!((table.find(7), table.remove(7), table.len()), (None, None, 99));
        table.insert(1000, 1);
        assert_eq!((table.find(7), table.find(1000), table.len()), (None, Some(1), 100));
        table.insert(1000, 2);
        assert_eq!(table.find(1000), Some(2));
        assert!(table.all.lock().unused.is_empty());
        table.remove_if(1000, 1);
        assert_eq!(table.find(1000), Some(2));
        table.remove_if(1000, 2);
        assert_eq!(table.find(1000), None);
    }
}
