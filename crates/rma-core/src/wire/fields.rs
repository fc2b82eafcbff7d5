//! Field-by-field reading and writing of little-endian numbers; total on any bytes.

use super::header::{HEADER_LEN, Protocol, header};
use crate::ids::{Sequence, WindowId};
use smallvec::SmallVec;

/// Room for the longest head without allocation.
pub type Head = SmallVec<[u8; 64]>;

/// Bytes that the heads of all one-sided packets begin with.
pub(super) const FIXED: usize = HEADER_LEN + 14;

/// A head that begins as those of all one-sided packets do.
pub(super) fn head(code: u8, flags: u8, window: WindowId, sequence: Sequence) -> Head {
    Head::from_slice(&fixed(code, flags, window, sequence))
}

/// What the heads of all one-sided packets begin with.
#[inline]
pub(super) fn fixed(code: u8, flags: u8, window: WindowId, sequence: Sequence) -> [u8; FIXED] {
    // Made in a register: bytes that are stored one by one and loaded together wait until all of them have left the store buffer.
    let [version, protocol] = header(Protocol::OneSided);
    let low = u32::from_le_bytes([version, protocol, code, flags]);
    let first = u64::from(window.to_bits()) << 32 | u64::from(low);
    let mut start = [0; FIXED];
    start[..8].copy_from_slice(&first.to_le_bytes());
    start[8..].copy_from_slice(&sequence.0.to_le_bytes());
    start
}

/// What the heads of all one-sided packets begin with, read.
pub(super) struct Start {
    pub(super) code: u8,
    pub(super) flags: u8,
    pub(super) window: WindowId,
    pub(super) sequence: Sequence,
}

/// Reads fields from the front of a packet.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(packet: &'a [u8]) -> Self {
        Self { rest: packet }
    }

    /// The fields of every one-sided packet: of a length that is looked at once.
    #[inline]
    pub(super) fn start(&mut self) -> Result<Start, &'static str> {
        let [_, _, code, flags, w0, w1, w2, w3, sequence @ ..] = self.bytes::<FIXED>()?;
        let window = WindowId::from_bits(u32::from_le_bytes([w0, w1, w2, w3]));
        Ok(Start { code, flags, window, sequence: Sequence(u64::from_le_bytes(sequence)) })
    }

    #[inline]
    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (field, rest) = self.rest.split_first_chunk::<N>().ok_or("shorter than its kind needs")?;
        self.rest = rest;
        Ok(*field)
    }

    pub(super) fn u8(&mut self) -> Result<u8, &'static str> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, &'static str> {
        self.bytes().map(u16::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, &'static str> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, &'static str> {
        self.bytes().map(i64::from_le_bytes)
    }

    /// `number` entries of `N` bytes each.
    pub(super) fn entries<const N: usize>(&mut self, number: usize) -> Result<&'a [[u8; N]], &'static str> {
        let (entries, rest) = self.rest.split_at_checked(number * N).ok_or("shorter than its entries")?;
        self.rest = rest;
        Ok(entries.as_chunks().0)
    }

    /// What follows the fields read so far.
    pub(super) fn rest(self) -> &'a [u8] {
        self.rest
    }
}
