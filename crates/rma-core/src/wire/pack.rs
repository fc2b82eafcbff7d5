//! The entries of a pack: small stores that share one request, each with a short head of its own.
//!
//! An entry is a reduce operation (0 for a put), a basic type (0 for a put), a length and a displacement, and then its data.
//! Entries are carried out in their order. What none of this job's processes sends is refused before any of it is carried
//! out: [`check_entries`].

use super::fields::Reader;
use super::request::parse_kernel;
use crate::ids::Disp;
use crate::kernel::Kernel;

/// Bytes of an entry before its data.
pub const PACK_ENTRY_LEN: usize = 12;

/// What an entry does with its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Stores them.
    Put,
    /// Combines them with the elements that are there.
    Accumulate(Kernel),
}

/// One store of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackEntry<'a> {
    /// What to do.
    pub store: Store,
    /// The first byte, in units of the target's displacement unit.
    pub disp: Disp,
    /// The data; never empty, and whole elements of an accumulate.
    pub data: &'a [u8],
}

/// The entries of a pack's data, in their order; behind the first one that is not legal there are none.
#[derive(Clone, Debug)]
pub struct PackEntries<'a> {
    rest: &'a [u8],
}

impl Store {
    /// The head of an entry.
    pub fn entry_head(self, disp: Disp, len: u16) -> [u8; PACK_ENTRY_LEN] {
        let mut head = [0; PACK_ENTRY_LEN];
        if let Self::Accumulate(kernel) = self {
            head[0] = kernel.op().code();
            head[1] = kernel.ty().code();
        }
        head[2..4].copy_from_slice(&len.to_le_bytes());
        head[4..].copy_from_slice(&disp.0.to_le_bytes());
        head
    }
}

/// Changes the length in an entry's head.
///
/// # Panics
/// When `head` is shorter than a head.
pub fn set_entry_len(head: &mut [u8], len: u16) {
    head[2..4].copy_from_slice(&len.to_le_bytes());
}

/// Whether a request's data are entries, one at least.
///
/// # Errors
/// Why no process of this job sends them.
pub fn check_entries(data: &[u8]) -> Result<(), &'static str> {
    if data.is_empty() {
        return Err("a pack of nothing");
    }
    PackEntries::new(data).try_for_each(|entry| entry.map(|_| ()))
}

impl<'a> PackEntries<'a> {
    /// The entries in these bytes.
    pub fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    fn parse(&mut self) -> Result<PackEntry<'a>, &'static str> {
        let is_put = self.rest.starts_with(&[0, 0]);
        let mut fields = Reader::new(self.rest);
        let store = if is_put {
            fields.bytes::<2>()?;
            Store::Put
        } else {
            Store::Accumulate(parse_kernel(&mut fields)?)
        };
        let len = usize::from(u16::from_le_bytes(fields.bytes()?));
        let disp = Disp(fields.u64()?);
        let (data, rest) = fields.rest().split_at_checked(len).ok_or("an entry of a pack behind its end")?;
        let is_whole = match store {
            Store::Put => true,
            Store::Accumulate(kernel) => len.is_multiple_of(kernel.ty().size()),
        };
        if len == 0 || !is_whole {
            return Err("an entry of a pack with data of a length that it cannot have");
        }
        self.rest = rest;
        Ok(PackEntry { store, disp, data })
    }
}

impl<'a> Iterator for PackEntries<'a> {
    type Item = Result<PackEntry<'a>, &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.parse();
        if entry.is_err() {
            self.rest = &[];
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::BasicType;
    use crate::kernel::ReduceOp;

    fn entry(store: Store, disp: u64, data: &[u8]) -> Vec<u8> {
        [&store.entry_head(Disp(disp), data.len() as u16)[..], data].concat()
    }

    fn sum() -> Store {
        Store::Accumulate(Kernel::new(ReduceOp::Sum, BasicType::U32).unwrap())
    }

    #[test]
    fn entries_survive_their_wire_form_in_order() {
        let bytes = [entry(Store::Put, 3, b"abc"), entry(sum(), u64::MAX, &[1; 8])].concat();
        assert_eq!(check_entries(&bytes), Ok(()));
        let entries = PackEntries::new(&bytes).map(Result::unwrap).collect::<Vec<_>>();
        let put = PackEntry { store: Store::Put, disp: Disp(3), data: b"abc" };
        let added = PackEntry { store: sum(), disp: Disp(u64::MAX), data: &[1; 8] };
        assert_eq!(entries, [put, added]);
    }

    #[test]
    fn a_longer_entry_is_one_entry() {
        let mut bytes = entry(Store::Put, 0, b"ab");
        bytes.extend_from_slice(b"cd");
        set_entry_len(&mut bytes, 4);
        assert_eq!(PackEntries::new(&bytes).map(|entry| entry.unwrap().data).collect::<Vec<_>>(), [b"abcd"]);
    }

    #[test]
    fn entries_that_no_origin_sends_are_refused() {
        assert!(check_entries(&[]).is_err(), "nothing");
        assert!(check_entries(&entry(Store::Put, 0, &[])).is_err(), "no data");
        assert!(check_entries(&entry(sum(), 0, &[1; 6])).is_err(), "half an element");
        let whole = [entry(Store::Put, 0, b"abc"), entry(sum(), 0, &[1; 8])].concat();
        for len in (1..whole.len()).filter(|len| *len != PACK_ENTRY_LEN + 3) {
            assert!(check_entries(&whole[..len]).is_err(), "cut to {len}");
        }
        for (at, value) in [(0, 1), (1, 1), (0, 255)] {
            let mut bad = entry(Store::Put, 0, b"abc");
            bad[at] = value;
            assert!(check_entries(&bad).is_err(), "byte {at} is {value}");
        }
    }
}
