//! Gather and scatter: a layout bound to memory, consumed piece by piece by whoever moves the bytes.
//!
//! Channels fill their vectors of system-call buffers from these and report how far they came; the position is kept here
//! and nowhere else.

use super::layout::{Layout, Segments};
use crate::mem::{ReadSpan, WriteSpan};

/// Bytes to send, in order, from scattered memory.
#[derive(Clone, Debug)]
pub struct Gather {
    base: *const u8,
    segments: Segments,
}

/// Room for bytes to receive, in order, into scattered memory. Bytes for a [`Scatter::discard`] go nowhere.
#[derive(Clone, Debug)]
pub struct Scatter {
    base: *mut u8,
    segments: Segments,
}

// SAFETY: the constructors' callers promise that the memory is accessible from any thread.
unsafe impl Send for Gather {}
// SAFETY: as for `Gather`.
unsafe impl Send for Scatter {}

impl Gather {
    /// The bytes of `layout` relative to `base`.
    ///
    /// # Safety
    /// Every byte of the layout must be readable for as long as this value, a clone, or a span taken from it is used;
    /// see [`ReadSpan::new`].
    pub unsafe fn new(base: *const u8, layout: &Layout) -> Self {
        Self { base, segments: layout.segments() }
    }

    /// One contiguous span.
    pub fn span(span: ReadSpan) -> Self {
        Self { base: span.as_ptr(), segments: Layout::contiguous(span.len() as u64).segments() }
    }

    /// Cuts off the next `len` bytes as a gather of their own; this one goes on behind them.
    ///
    /// # Panics
    /// When fewer bytes remain.
    #[must_use]
    pub fn split_to(&mut self, len: u64) -> Self {
        Self { base: self.base, segments: self.segments.split_to(len) }
    }

    /// Bytes left to send.
    pub fn remaining(&self) -> u64 {
        self.segments.remaining()
    }

    /// The next contiguous bytes, at most `limit` of them; `None` at the end.
    pub fn peek(&self, limit: usize) -> Option<ReadSpan> {
        let segment = self.segments.peek()?;
        let len = usize::try_from(segment.len).unwrap_or(usize::MAX).min(limit);
        // SAFETY: the segment lies within the layout, whose bytes the constructor's caller promised to be readable.
        Some(unsafe { ReadSpan::new(self.base.wrapping_offset(segment.offset as isize), len) })
    }

    /// Says that the next `len` bytes have been taken.
    pub fn advance(&mut self, len: usize) {
        self.segments.advance(len as u64);
    }

    /// Copies the next `into.len()` bytes out and advances.
    ///
    /// # Panics
    /// When fewer bytes remain.
    pub fn read(&mut self, into: &mut [u8]) {
        let mut done = 0;
        while done < into.len() {
            let span = self.peek(into.len() - done).expect("the caller asked for more bytes than remain");
            span.read(&mut into[done..done + span.len()]);
            self.advance(span.len());
            done += span.len();
        }
    }

    /// Copies the next bytes to the start of `into`, as many as both sides have, and advances; says how many.
    pub fn copy_to(&mut self, into: WriteSpan) -> usize {
        let mut done = 0;
        while done < into.len() {
            let Some(span) = self.peek(into.len() - done) else { break };
            into.part(done, span.len()).write_from(span);
            self.advance(span.len());
            done += span.len();
        }
        done
    }
}

impl Scatter {
    /// Room for the bytes of `layout` relative to `base`.
    ///
    /// # Safety
    /// Every byte of the layout must be writable for as long as this value, a clone, or a span taken from it is used;
    /// see [`WriteSpan::new`].
    pub unsafe fn new(base: *mut u8, layout: &Layout) -> Self {
        Self { base, segments: layout.segments() }
    }

    /// One contiguous span.
    pub fn span(span: WriteSpan) -> Self {
        Self { base: span.as_mut_ptr(), segments: Layout::contiguous(span.len() as u64).segments() }
    }

    /// Takes `len` bytes and drops them: dropping is a property of the sink (lessons, decision 9).
    pub fn discard(len: u64) -> Self {
        Self { base: std::ptr::null_mut(), segments: Layout::contiguous(len).segments() }
    }

    /// Whether the bytes are dropped; then [`Scatter::peek`] answers `None` and only [`Scatter::advance`] is used.
    pub fn is_discard(&self) -> bool {
        self.base.is_null()
    }

    /// Bytes still expected.
    pub fn remaining(&self) -> u64 {
        self.segments.remaining()
    }

    /// Room for the next contiguous bytes, at most `limit` of them; `None` at the end or when the bytes are dropped.
    pub fn peek(&self, limit: usize) -> Option<WriteSpan> {
        if self.is_discard() {
            return None;
        }
        let segment = self.segments.peek()?;
        let len = usize::try_from(segment.len).unwrap_or(usize::MAX).min(limit);
        // SAFETY: the segment lies within the layout, whose bytes the constructor's caller promised to be writable.
        Some(unsafe { WriteSpan::new(self.base.wrapping_offset(segment.offset as isize), len) })
    }

    /// Says that the next `len` bytes have arrived.
    pub fn advance(&mut self, len: usize) {
        self.segments.advance(len as u64);
    }

    /// Stores `from` in the next bytes (or drops it) and advances.
    ///
    /// # Panics
    /// When `from` is longer than what remains.
    pub fn write(&mut self, from: &[u8]) {
        if self.is_discard() {
            return self.advance(from.len());
        }
        let mut done = 0;
        while done < from.len() {
            let span = self.peek(from.len() - done).expect("the caller brought more bytes than remain");
            span.write(&from[done..done + span.len()]);
            self.advance(span.len());
            done += span.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Loop;
    use super::*;

    #[test]
    fn gather_and_scatter_move_the_same_bytes_in_any_pieces() {
        let source: Vec<u8> = (0..64).collect();
        let layout = Layout::nest(1, 3, &[Loop { count: 5, stride: 9 }]).unwrap();
        for step in [1, 2, 3, 7, 15] {
            let mut target = vec![0u8; 64];
            // SAFETY: the layout reaches from byte 1 to byte 40 of vectors of 64 that outlive the walk.
            let (mut gather, mut scatter) = unsafe {
                (Gather::new(source.as_ptr(), &layout), Scatter::new(target.as_mut_ptr(), &layout))
            };
            let mut buffer = vec![0u8; step];
            while gather.remaining() > 0 {
                let len = step.min(gather.remaining() as usize);
                gather.read(&mut buffer[..len]);
                scatter.write(&buffer[..len]);
            }
            assert_eq!(scatter.remaining(), 0);
            for (i, byte) in target.iter().enumerate() {
                let covered = i >= 1 && (i - 1) % 9 < 3 && i < 40;
                assert_eq!(*byte, if covered { i as u8 } else { 0 }, "byte {i}, step {step}");
            }
        }
    }

    #[test]
    fn discarding_takes_any_bytes_and_offers_no_memory() {
        let mut scatter = Scatter::discard(10);
        assert_eq!(scatter.peek(4), None);
        scatter.write(&[1; 6]);
        scatter.advance(4);
        assert_eq!(scatter.remaining(), 0);
    }
}
