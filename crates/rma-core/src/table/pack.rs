//! A pack: small stores to one target in the bytes in which they will travel.
//!
//! The data is copied when a store joins, so the user's buffer is free at once. A store that begins where the
//! one before it ends, and does the same, makes that one longer. Knows no epochs; which stores may join is
//! decided by [`crate::origin`].

use crate::ids::Disp;
use crate::mem::ReadSpan;
use crate::wire::{PACK_ENTRY_LEN, Store, set_entry_len};

/// What memory is made for at first: a few dozen small stores.
const FIRST_BYTES: usize = 2048;

/// What most stores are: moved without a call for it.
const WORD: usize = 8;

/// Stores that leave in one packet.
#[derive(Debug)]
pub(crate) struct Pack {
    bytes: Vec<u8>,
    /// Most bytes that there may be.
    most: usize,
    /// Stores that have joined.
    stores: u64,
    last: Option<Last>,
}

/// The entry at the end.
#[derive(Debug)]
struct Last {
    /// Where its head begins.
    at: usize,
    store: Store,
    /// The byte of the target's window behind it, if the origin knows it.
    end: Option<u64>,
}

impl Pack {
    /// An empty pack of at most so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        // Lengths of entries have 16 bits.
        let most = most.min(usize::from(u16::MAX));
        Self { bytes: Vec::with_capacity(most.min(FIRST_BYTES)), most, stores: 0, last: None }
    }

    /// Adds a store, unless there is no room. `start` is the byte of the target's window at `disp`, if the
    /// origin knows it.
    pub(crate) fn add(&mut self, store: Store, disp: Disp, start: Option<u64>, data: ReadSpan) -> bool {
        self.add_bytes(store, disp, start, data.len(), |bytes| data.read(bytes))
    }

    fn add_bytes(
        &mut self,
        store: Store,
        disp: Disp,
        start: Option<u64>,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        let at = self.bytes.len();
        let end = start.and_then(|start| start.checked_add(len as u64));
        if let Some(last) = &mut self.last
            && start.is_some()
            && last.end == start
            && last.store == store
        {
            if at + len > self.most {
                return false;
            }
            append(&mut self.bytes, len, fill);
            // At most `most`, which is such a number.
            let longer = self.bytes.len() - last.at - PACK_ENTRY_LEN;
            set_entry_len(&mut self.bytes[last.at..], longer as u16);
            last.end = end;
        } else {
            if at + PACK_ENTRY_LEN + len > self.most {
                return false;
            }
            let head = store.entry_head(disp, len as u16);
            if len == WORD {
                let mut entry = [0; PACK_ENTRY_LEN + WORD];
                entry[..PACK_ENTRY_LEN].copy_from_slice(&head);
                fill(&mut entry[PACK_ENTRY_LEN..]);
                self.bytes.extend_from_slice(&entry);
            } else {
                self.bytes.extend_from_slice(&head);
                append(&mut self.bytes, len, fill);
            }
            self.last = Some(Last { at, store, end });
        }
        self.stores += 1;
        true
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Stores that have joined.
    pub(crate) fn stores(&self) -> u64 {
        self.stores
    }
}

#[inline]
fn append(bytes: &mut Vec<u8>, len: usize, fill: impl FnOnce(&mut [u8])) {
    if len == WORD {
        let mut word = [0; WORD];
        fill(&mut word);
        bytes.extend_from_slice(&word);
    } else {
        let at = bytes.len();
        bytes.resize(at + len, 0);
        fill(&mut bytes[at..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::BasicType;
    use crate::kernel::{Kernel, ReduceOp};
    use crate::wire::PackEntries;

    fn add(pack: &mut Pack, store: Store, start: Option<u64>, data: &[u8]) -> bool {
        let disp = Disp(start.unwrap_or(7));
        pack.add_bytes(store, disp, start, data.len(), |bytes| bytes.copy_from_slice(data))
    }

    fn entries(pack: &Pack) -> Vec<(u64, usize)> {
        PackEntries::new(pack.bytes()).map(Result::unwrap).map(|e| (e.disp.0, e.data.len())).collect()
    }

    #[test]
    fn neighbours_that_do_the_same_become_one_entry() {
        let sum = Store::Accumulate(Kernel::new(ReduceOp::Sum, BasicType::U32).unwrap());
        let mut pack = Pack::new(1000);
        assert!(add(&mut pack, Store::Put, Some(0), &[1; 4]));
        assert!(add(&mut pack, Store::Put, Some(4), &[2; 4]));
        assert!(add(&mut pack, sum, Some(8), &[3; 4]), "another operation");
        assert!(add(&mut pack, sum, Some(12), &[4; 4]));
        assert!(add(&mut pack, sum, Some(12), &[5; 4]), "the same place again");
        assert!(add(&mut pack, Store::Put, Some(12), &[6; 4]), "behind nothing");
        assert_eq!(entries(&pack), [(0, 8), (8, 8), (12, 4), (12, 4)]);
        assert_eq!(pack.stores(), 6);
    }

    #[test]
    fn without_a_known_place_every_store_is_an_entry() {
        let mut pack = Pack::new(1000);
        assert!(add(&mut pack, Store::Put, None, &[1; 4]) && add(&mut pack, Store::Put, None, &[1; 4]));
        assert_eq!(entries(&pack), [(7, 4), (7, 4)]);
        assert!(add(&mut pack, Store::Put, Some(u64::MAX - 3), &[1; 4]), "ends past 64 bits");
    }

    #[test]
    fn a_full_pack_takes_nothing_and_stays_as_it_is() {
        let mut pack = Pack::new(2 * PACK_ENTRY_LEN + 8);
        assert!(
            add(&mut pack, Store::Put, Some(0), &[1; 4]) && add(&mut pack, Store::Put, Some(100), &[1; 4])
        );
        let before = pack.bytes().to_vec();
        assert!(!add(&mut pack, Store::Put, Some(104), &[1]) && !add(&mut pack, Store::Put, Some(0), &[1]));
        assert_eq!(pack.bytes(), before);
        assert_eq!(pack.stores(), 2);
    }
}
