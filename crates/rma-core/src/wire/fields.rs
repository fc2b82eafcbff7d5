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
    let mut start = [0; FIXED];
    start[..HEADER_LEN].copy_from_slice(&header(Protocol::OneSided));
    start[HEADER_LEN] = code;
    start[HEADER_LEN + 1] = flags;
    start[HEADER_LEN + 2..HEADER_LEN + 6].copy_from_slice(&window.to_bits().to_le_bytes());
    start[HEADER_LEN + 6..].copy_from_slice(&sequence.0.to_le_bytes());
    start
}

/// Reads fields from the front of a packet.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(packet: &'a [u8]) -> Self {
        Self { rest: packet }
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (field, rest) = self.rest.split_first_chunk::<N>().ok_or("shorter than its kind needs")?;
        self.rest = rest;
        Ok(*field)
    }

    pub(super) fn u8(&mut self) -> Result<u8, &'static str> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self) -> Result<u32, &'static str> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, &'static str> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, &'static str> {
        self.bytes().map(i64::from_le_bytes)
    }

    /// What follows the fields read so far.
    pub(super) fn rest(self) -> &'a [u8] {
        self.rest
    }
}
