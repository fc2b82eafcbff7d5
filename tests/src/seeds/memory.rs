//! Memory that programs hand to the engine: buffers that stay where they are, aligned like a cache line.

use rma_core::mem::{ReadSpan, WriteSpan};

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A buffer. The engine may use it until it is dropped, so it is dropped only when no operation is left on
/// it.
#[derive(Debug)]
pub(super) struct Buffer {
    lines: Box<[Line]>,
    len: usize,
}

impl Buffer {
    /// A buffer that begins with these bytes.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut lines = vec![Line([0; 64]); bytes.len().div_ceil(64).max(1)].into_boxed_slice();
        for (line, part) in lines.iter_mut().zip(bytes.chunks(64)) {
            line.0[..part.len()].copy_from_slice(part);
        }
        Self { lines, len: bytes.len() }
    }

    /// Where it begins.
    pub(super) fn base(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }

    /// All of it, to receive into.
    pub(super) fn span(&mut self) -> WriteSpan {
        // SAFETY: the lines are at least `len` bytes, stay where they are, and live until the last use of the
        // span, by the rule of this type; no references to them are made meanwhile.
        unsafe { WriteSpan::new(self.lines.as_mut_ptr().cast(), self.len) }
    }

    /// All of it, to send from.
    pub(super) fn read_span(&mut self) -> ReadSpan {
        self.span().as_read()
    }

    /// What it holds.
    pub(super) fn bytes(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        self.read_span().read(&mut bytes);
        bytes
    }

    /// Overwrites all of it.
    pub(super) fn fill(&mut self, byte: u8) {
        let bytes = vec![byte; self.len];
        self.span().write(&bytes);
    }
}
