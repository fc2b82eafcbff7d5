//! Choices made by bytes: a fuzzer that changes a byte changes a choice.

/// Numbers below a limit, from bytes; 0 when they are used up.
#[derive(Debug)]
pub(super) struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// A number below `limit`, which is not 0: one byte for small limits.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        let taken = if limit <= 256 { 1 } else { 8 }.min(self.rest.len());
        let (now, rest) = self.rest.split_at(taken);
        self.rest = rest;
        let mut bytes = [0; 8];
        bytes[..taken].copy_from_slice(now);
        u64::from_le_bytes(bytes) % limit
    }

    /// Any number, often a small one or one at an edge.
    pub(super) fn number(&mut self) -> u64 {
        match self.below(8) {
            0 => self.below(u64::MAX),
            1 => (1 << self.below(64)) - self.below(2),
            2 => u64::MAX - self.below(4),
            _ => self.below(64),
        }
    }

    /// Any signed number, often a small one.
    pub(super) fn signed(&mut self) -> i64 {
        let number = self.number() as i64;
        if self.below(2) == 0 { number } else { number.wrapping_neg() }
    }
}
