//! Handles: numbers for what C callers hold. Kind, generation and index, so that one that is stale, of another kind, or made
//! up is an error.

use parking_lot::RwLock;
use rma_ch_c::bad;
use rma_core::Result;

/// What a handle stands for, as its highest byte.
pub(crate) const ENGINE: u8 = 0x51;
pub(crate) const WINDOW: u8 = 0x52;
pub(crate) const CALL: u8 = 0x53;
pub(crate) const TYPE: u8 = 0x54;
pub(crate) const CREATION: u8 = 0x55;
pub(crate) const EXTERNAL_WAIT: u8 = 0x56;

/// All objects of a kind.
pub(crate) struct Table<T> {
    kind: u8,
    name: &'static str,
    entries: RwLock<Entries<T>>,
}

struct Entries<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Generations count in 24 bits, from 1: a basic datatype is a handle of generation 0.
const GENERATIONS: u32 = 1 << 24;

impl<T: Clone> Table<T> {
    pub(crate) const fn new(kind: u8, name: &'static str) -> Self {
        Self { kind, name, entries: RwLock::new(Entries { slots: Vec::new(), free: Vec::new() }) }
    }

    pub(crate) fn insert(&self, value: T) -> u64 {
        let Entries { slots, free } = &mut *self.entries.write();
        let index = free.pop().unwrap_or_else(|| {
            slots.push(Slot { generation: 0, value: None });
            (slots.len() - 1) as u32
        });
        let slot = &mut slots[index as usize];
        slot.generation = if slot.generation == GENERATIONS - 1 { 1 } else { slot.generation + 1 };
        slot.value = Some(value);
        u64::from(self.kind) << 56 | u64::from(slot.generation) << 32 | u64::from(index)
    }

    pub(crate) fn get(&self, id: u64) -> Result<T> {
        let entries = self.entries.read();
        let slot = self.index(id).and_then(|(index, generation)| {
            entries.slots.get(index).filter(|slot| slot.generation == generation)?.value.clone()
        });
        slot.ok_or_else(|| self.unknown(id))
    }

    /// Takes the object out: the handle is stale from now on.
    pub(crate) fn take(&self, id: u64) -> Result<T> {
        let Entries { slots, free } = &mut *self.entries.write();
        let taken = self.index(id).and_then(|(index, generation)| {
            let value = slots.get_mut(index).filter(|slot| slot.generation == generation)?.value.take()?;
            free.push(index as u32);
            Some(value)
        });
        taken.ok_or_else(|| self.unknown(id))
    }

    fn index(&self, id: u64) -> Option<(usize, u32)> {
        (id >> 56 == u64::from(self.kind)).then_some((id as u32 as usize, (id >> 32) as u32 % GENERATIONS))
    }

    #[cold]
    fn unknown(&self, id: u64) -> rma_core::Error {
        bad(format!("{id:#x} is not {}, or none any more", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_foreign_and_invented_handles_are_errors() {
        let (table, other) = (Table::new(CALL, "a call"), Table::new(TYPE, "a datatype"));
        let (one, two) = (table.insert(1), table.insert(2));
        let foreign = other.insert(3);
        assert_eq!((table.get(one).unwrap(), table.get(two).unwrap()), (1, 2));
        assert_eq!(table.take(one).unwrap(), 1);
        let next = table.insert(4);
        assert_ne!(next, one, "the place is used again, the handle is not");
        for bad in [0, one, foreign, two + 1, two ^ 1 << 40, u64::MAX] {
            assert!(table.get(bad).unwrap_err().to_string().contains("not a call"), "{bad:#x}");
            assert!(table.take(bad).is_err());
        }
    }
}
