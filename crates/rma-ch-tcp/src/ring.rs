//! A queue of bytes in a ring that grows up to what its owner asks for.
//!
//! Bytes are written behind the end, at offsets of the writer's choice, and belong to the queue when they are committed.
//! Invariant: `head < buffer.len()` or both are 0, and `len + reserved ≤ buffer.len()`. Knows no packets.

use rma_core::datatype::Gather;

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct ByteRing {
    buffer: Vec<u8>,
    head: usize,
    len: usize,
}

impl ByteRing {
    /// First allocation, unless more is needed at once or less is allowed.
    const START: usize = 4096;

    /// Bytes in the queue.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes allocated.
    pub(crate) fn allocated(&self) -> usize {
        self.buffer.len()
    }

    /// Makes room for `more` bytes behind the end without allocating more than `limit`, which is at least what is
    /// needed.
    pub(crate) fn make_room(&mut self, more: usize, limit: usize) {
        let needed = self.len + more;
        if needed <= self.buffer.len() {
            return;
        }
        debug_assert!(needed <= limit);
        let target = needed.max(self.buffer.len() * 2).max(Self::START).min(limit);
        let mut grown = vec![0; target];
        let (first, second) = self.parts(0, self.len);
        grown[..first.len()].copy_from_slice(first);
        grown[first.len()..first.len() + second.len()].copy_from_slice(second);
        self.buffer = grown;
        self.head = 0;
    }

    /// Writes `bytes` at `offset` behind the end.
    ///
    /// # Panics
    /// When no room was made for them.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let (first, second) = self.room(offset, bytes.len());
        let (a, b) = bytes.split_at(first.len());
        first.copy_from_slice(a);
        second.copy_from_slice(b);
    }

    /// Writes the next `len` bytes of `gather` at `offset` behind the end.
    ///
    /// # Panics
    /// When no room was made for them, or the gather has fewer.
    pub(crate) fn write_gathered(&mut self, offset: usize, len: usize, gather: &mut Gather) {
        let (first, second) = self.room(offset, len);
        gather.read(first);
        gather.read(second);
    }

    /// Adds the first `len` bytes behind the end to the queue.
    pub(crate) fn commit(&mut self, len: usize) {
        debug_assert!(self.len + len <= self.buffer.len());
        self.len += len;
    }

    /// The bytes `offset .. offset + len` of the queue, in order, in two pieces.
    ///
    /// # Panics
    /// When the queue is shorter.
    pub(crate) fn parts(&self, offset: usize, len: usize) -> (&[u8], &[u8]) {
        assert!(offset + len <= self.len, "bytes {offset}..+{len} of a queue of {}", self.len);
        let (start, first, second) = self.place(offset, len);
        (&self.buffer[start..start + first], &self.buffer[..second])
    }

    /// Takes `len` bytes off the front.
    ///
    /// # Panics
    /// When the queue is shorter.
    pub(crate) fn consume(&mut self, len: usize) {
        assert!(len <= self.len, "{len} bytes taken off a queue of {}", self.len);
        self.len -= len;
        self.head += len;
        if self.head >= self.buffer.len() {
            self.head -= self.buffer.len();
        }
        if self.len == 0 {
            // What comes next lies in one piece.
            self.head = 0;
        }
    }

    fn room(&mut self, offset: usize, len: usize) -> (&mut [u8], &mut [u8]) {
        assert!(self.len + offset + len <= self.buffer.len(), "no room was made for {len} bytes at {offset}");
        let (start, first, second) = self.place(self.len + offset, len);
        if second == 0 {
            return (&mut self.buffer[start..start + first], &mut []);
        }
        let (low, high) = self.buffer.split_at_mut(start);
        (&mut high[..first], &mut low[..second])
    }

    /// Start of `len` bytes from `offset` behind the head, how many lie there, and how many at the buffer's start.
    fn place(&self, offset: usize, len: usize) -> (usize, usize, usize) {
        let mut start = self.head + offset;
        if start >= self.buffer.len() {
            start -= self.buffer.len();
        }
        let first = len.min(self.buffer.len() - start);
        (start, first, len - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rma_core::mem::ReadSpan;
    use std::collections::VecDeque;

    #[test]
    fn bytes_come_out_as_they_went_in_over_the_edge_and_while_growing() {
        let mut ring = ByteRing::default();
        let mut model = VecDeque::new();
        let mut next = 0u8;
        let limit = 97;
        for round in 0..5000usize {
            let len = round * 7 % 23;
            if ring.len() + len <= limit {
                ring.make_room(len, limit);
                let bytes: Vec<u8> = (0..len).map(|i| next.wrapping_add(i as u8)).collect();
                next = next.wrapping_add(len as u8);
                let half = len / 2;
                ring.write(0, &bytes[..half]);
                // SAFETY: the bytes outlive the gather, which ends in this block.
                let span = unsafe { ReadSpan::new(bytes[half..].as_ptr(), len - half) };
                ring.write_gathered(half, len - half, &mut Gather::span(span));
                if round % 5 == 0 {
                    next = next.wrapping_sub(len as u8); // not committed: gone
                } else {
                    ring.commit(len);
                    model.extend(bytes);
                }
            }
            let take = (round * 5 % 19).min(ring.len());
            let (a, b) = ring.parts(0, take);
            assert_eq!([a, b].concat(), model.drain(..take).collect::<Vec<_>>(), "round {round}");
            ring.consume(take);
            assert_eq!(ring.len(), model.len());
            assert!(ring.allocated() <= limit);
        }
        let (a, b) = ring.parts(1, ring.len() - 1);
        assert_eq!([a, b].concat(), model.iter().skip(1).copied().collect::<Vec<_>>());
    }

    #[test]
    fn nothing_is_allocated_before_it_is_needed() {
        let mut ring = ByteRing::default();
        ring.consume(0);
        assert_eq!((ring.parts(0, 0), ring.allocated()), ((&[][..], &[][..]), 0));
        ring.make_room(1, 1 << 20);
        assert_eq!(ring.allocated(), ByteRing::START);
        assert!(std::panic::catch_unwind(move || ring.write(0, &[0; 5000])).is_err());
    }
}
