//! Memory for pieces on their way through the target: operands until they are combined, and old values until they have left.
//!
//! A piece is a unit long at most (`RMA_UNIT_BYTES`). Memory of that length comes cleared from the system and goes back to it
//! page by page, which costs about what combining a piece does; so some of it is kept for the next piece, the hottest first.
//! Invariants: never more than [`MOST_KEPT`] bytes are kept, whatever the unit is; memory is lent to a
//! channel as a span only by an owner that keeps the buffer until the channel has given the span up (clause
//! C4).

use super::{Held, OutOfRange};
use crate::mem::{ReadSpan, WriteSpan};
use crate::wire::Request;

/// Bytes kept for pieces to come: operands and old values of one as long as a unit is unless it is set.
const MOST_KEPT: usize = 2 << 20;

/// What is allocated at least, so that short pieces have room in each other's memory.
const LEAST: usize = 4 << 10;

/// A request whose body is on its way.
pub(crate) struct Incoming {
    pub(crate) request: Request,
    pub(crate) len: u64,
    pub(crate) body: ReceivedBody,
}

pub(crate) enum ReceivedBody {
    /// Straight into the window, which stays mapped until then.
    Window { _memory: Held },
    /// Into a buffer, to be combined when complete.
    Staged(Buffer),
    /// Nowhere: the request is out of range.
    Dropped(OutOfRange),
}

/// The memory that is kept.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    kept: Vec<Vec<u8>>,
    bytes: usize,
}

/// Memory of one piece.
#[derive(Debug)]
pub(crate) struct Buffer {
    memory: Vec<u8>,
    len: usize,
}

impl Buffers {
    /// Memory for `len` bytes, of any value.
    pub(crate) fn take(&mut self, len: usize) -> Buffer {
        while let Some(memory) = self.kept.pop() {
            self.bytes -= memory.len();
            // What is too short belongs to shorter pieces than there are now.
            if memory.len() >= len {
                return Buffer { memory, len };
            }
        }
        Buffer { memory: vec![0; len.max(LEAST)], len }
    }

    /// Memory with these bytes.
    pub(crate) fn filled(&mut self, bytes: &[u8]) -> Buffer {
        let mut buffer = self.take(bytes.len());
        buffer.memory[..bytes.len()].copy_from_slice(bytes);
        buffer
    }

    /// Keeps the memory of a piece that is through, if there is room for it.
    pub(crate) fn give_back(&mut self, Buffer { memory, .. }: Buffer) {
        if self.bytes + memory.len() <= MOST_KEPT {
            self.bytes += memory.len();
            self.kept.push(memory);
        }
    }
}

impl Buffer {
    /// The piece.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[..self.len]
    }

    /// The piece, to be written.
    ///
    /// # Safety
    /// As for [`WriteSpan::new`]: while the span or a copy of it is used, the buffer must live, and nothing else be done with
    /// it but to move it.
    pub(crate) unsafe fn write_span(&mut self) -> WriteSpan {
        // SAFETY: the memory is the buffer's, and does not move with it; the rest is the caller's promise.
        unsafe { WriteSpan::new(self.memory.as_mut_ptr(), self.len) }
    }

    /// The piece, to be read.
    ///
    /// # Safety
    /// As for [`ReadSpan::new`]: while the span or a copy of it is used, the buffer must live, and not be
    /// written.
    pub(crate) unsafe fn read_span(&self) -> ReadSpan {
        // SAFETY: as for `write_span`.
        unsafe { ReadSpan::new(self.memory.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_piece_serves_the_next_one() {
        let mut buffers = Buffers::default();
        let first = buffers.take(60_000);
        let at = first.bytes().as_ptr();
        buffers.give_back(first);
        let second = buffers.take(100);
        assert_eq!((second.bytes().as_ptr(), second.bytes().len()), (at, 100));
        buffers.give_back(second);
        assert_eq!(buffers.take(60_000).bytes().as_ptr(), at, "a short piece leaves long memory long");
    }

    #[test]
    fn no_more_is_kept_than_the_limit_and_nothing_too_short() {
        let mut buffers = Buffers::default();
        let many: Vec<Buffer> = (0..40).map(|_| buffers.take(1 << 16)).collect();
        many.into_iter().for_each(|buffer| buffers.give_back(buffer));
        assert_eq!((buffers.bytes, buffers.kept.len()), (MOST_KEPT, MOST_KEPT >> 16));
        let long = buffers.take(MOST_KEPT + 1);
        assert_eq!((buffers.bytes, buffers.kept.len()), (0, 0), "memory that is too short is given up");
        buffers.give_back(long);
        assert_eq!(buffers.bytes, 0, "nor is memory kept that is longer than all of the limit");
    }
}
