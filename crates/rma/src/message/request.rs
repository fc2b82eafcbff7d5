//! Requests under way, by index and generation, so that a late or forged packet finds nothing.
//!
//! Knows nothing of what a request is.

/// Name of a request; what packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RequestId {
    pub(super) index: u32,
    /// At most 31 bits, so that the name fits a bulk token.
    pub(super) generation: u32,
}

const GENERATION_MASK: u32 = u32::MAX >> 1;

/// A table of requests.
#[derive(Debug)]
pub(super) struct Requests<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    value: Option<T>,
}

impl RequestId {
    /// A name that no request has: 2³² of them do not fit into memory, and no generation has more than 31 bits.
    pub(super) const LENT: Self = Self { index: u32::MAX, generation: u32::MAX };

    /// The name as it travels.
    pub(super) fn to_bits(self) -> u64 {
        u64::from(self.index) | u64::from(self.generation) << 32
    }

    /// The inverse; every bit pattern is a name, though perhaps of nothing.
    pub(super) fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

impl<T> Requests<T> {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }

    pub(super) fn insert(&mut self, value: T) -> RequestId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry { generation: 0, value: None });
            // 2³² requests do not fit into memory.
            (self.entries.len() - 1) as u32
        });
        let entry = &mut self.entries[index as usize];
        entry.value = Some(value);
        RequestId { index, generation: entry.generation }
    }

    pub(super) fn get(&self, id: RequestId) -> Option<&T> {
        let entry = self.entries.get(id.index as usize)?;
        entry.value.as_ref().filter(|_| entry.generation == id.generation)
    }

    pub(super) fn get_mut(&mut self, id: RequestId) -> Option<&mut T> {
        let entry = self.entries.get_mut(id.index as usize)?;
        entry.value.as_mut().filter(|_| entry.generation == id.generation)
    }

    pub(super) fn remove(&mut self, id: RequestId) -> Option<T> {
        self.get(id)?;
        let entry = &mut self.entries[id.index as usize];
        entry.generation = entry.generation.wrapping_add(1) & GENERATION_MASK;
        self.free.push(id.index);
        entry.value.take()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (RequestId, &mut T)> {
        self.entries.iter_mut().enumerate().filter_map(|(index, entry)| {
            let id = RequestId { index: index as u32, generation: entry.generation };
            entry.value.as_mut().map(|value| (id, value))
        })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_good_for_one_request() {
        let mut requests = Requests::new();
        let (a, b) = (requests.insert("a"), requests.insert("b"));
        assert_eq!((requests.get(a), requests.get(b)), (Some(&"a"), Some(&"b")));
        assert_eq!(requests.remove(a), Some("a"));
        assert_eq!(requests.remove(a), None);
        assert_eq!(requests.get(a), None);
        let c = requests.insert("c");
        assert_eq!(c.index, a.index);
        assert_ne!(c, a);
        assert_eq!(requests.get_mut(a), None);
        assert_eq!(requests.iter_mut().count(), 2);
        for id in [a, b, c, RequestId { index: u32::MAX, generation: GENERATION_MASK }] {
            assert_eq!(RequestId::from_bits(id.to_bits()), id);
            assert_eq!(id.to_bits() & rma_core::progress::UPPER_TOKEN, 0);
        }
        assert_eq!(requests.get(RequestId { index: 99, generation: 0 }), None);
    }
}
