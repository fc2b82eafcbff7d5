//! A mapping of shared memory into this process. One of the files of this crate with `unsafe`.
//!
//! Invariants: the whole of the memory is mapped, readable and writable, from construction to drop; only
//! spans of it and atomics in it are handed out, no references. Other processes may change any byte at any
//! time. What is mapped cannot shrink: its size was sealed, or it is a file without a name that only this
//! job's processes have.

use super::memory::SharedMemory;
use memmap2::{MmapOptions, MmapRaw};
use rma_core::mem::WriteSpan;
use std::io;

/// Shared memory mapped here; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    raw: MmapRaw,
    len: usize,
}

impl Mapping {
    /// Maps all of `memory`.
    ///
    /// # Errors
    /// When the system refuses, for example because the address space is limited.
    pub fn new(memory: &SharedMemory) -> io::Result<Self> {
        let len = usize::try_from(memory.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let raw = MmapOptions::new().len(len).no_reserve_swap().map_raw(memory.file())?;
        Ok(Self { raw, len })
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no byte is mapped.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes `offset .. offset + len`.
    ///
    /// # Safety
    /// Neither the span nor a copy or part of it may be used after this mapping is dropped, and no reference to its bytes
    /// may be formed meanwhile.
    ///
    /// # Panics
    /// When the part does not lie within the mapping.
    pub unsafe fn span(&self, offset: usize, len: usize) -> WriteSpan {
        // SAFETY: all `self.len` bytes are mapped readable and writable until drop, and the caller promises not to use
        // the span for longer and to form no reference.
        let all = unsafe { WriteSpan::new(self.raw.as_mut_ptr(), self.len) };
        all.part(offset, len)
    }
}
