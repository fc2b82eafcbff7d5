//! A mapping of shared memory into this process. One of the files of this crate with `unsafe`.
//!
//! Invariants: the whole of the memory is mapped, readable and writable, from construction to drop; only
//! spans of it and atomics in it are handed out, no references. Other processes may change any byte at any
//! time. What is mapped cannot shrink: its size was sealed, or it is a file without a name that only this
//! job's processes have.

use super::memory::SharedMemory;
use rma_core::mem::WriteSpan;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::io;
use std::ptr;

/// Shared memory mapped here; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    len: usize,
}

// SAFETY: a mapping has no owner among threads, and its bytes are reached through spans alone, which any thread may use.
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

/// Of libc: rustix's own way reads the vdso, which valgrind takes away, and ends the program there.
fn page_size() -> io::Result<usize> {
    // SAFETY: a question to the system, without memory.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).map_err(|_| io::Error::last_os_error())
}

impl Mapping {
    /// Maps all of `memory`.
    ///
    /// # Errors
    /// When the system refuses, for example because the address space is limited.
    pub fn new(memory: &SharedMemory) -> io::Result<Self> {
        Self::aligned(memory, 1)
    }

    /// Maps all of `memory` at a multiple of `align`, a power of two.
    ///
    /// # Errors
    /// As [`Mapping::new`].
    pub fn aligned(memory: &SharedMemory, align: u64) -> io::Result<Self> {
        let [len, align] = [memory.len(), align].map(usize::try_from);
        let too_long = |_| io::Error::from(io::ErrorKind::OutOfMemory);
        let (len, align) = (len.map_err(too_long)?, align.map_err(too_long)?);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let page = page_size()?;
        if align <= page {
            // SAFETY: the system chooses where, so no mapping is replaced.
            let start = unsafe { mmap(ptr::null_mut(), len.max(1), access, MapFlags::SHARED, memory, 0) }?;
            return Ok(Self { start: start.cast(), len });
        }
        let whole = len.max(1).checked_next_multiple_of(page);
        let Some((whole, reserved)) = whole.and_then(|whole| Some((whole, whole.checked_add(align)?))) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        // SAFETY: as above. These addresses are free then, and nothing of this process's knows them.
        let first = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                reserved,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }?;
        let gap = (first as usize).next_multiple_of(align) - first as usize;
        let start = first.wrapping_byte_add(gap);
        // SAFETY: what is replaced is a part of the reservation above, as is what is given back on its sides.
        let mapping = unsafe {
            let mapped = mmap(start, len.max(1), access, MapFlags::SHARED | MapFlags::FIXED, memory, 0);
            if let Err(error) = mapped {
                munmap(first, reserved)?;
                return Err(error.into());
            }
            let mapping = Self { start: start.cast(), len };
            if gap > 0 {
                munmap(first, gap)?;
            }
            munmap(start.wrapping_byte_add(whole), reserved - gap - whole)?;
            mapping
        };
        Ok(mapping)
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
        let all = unsafe { WriteSpan::new(self.start, self.len) };
        all.part(offset, len)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by the constructor with this length, and unmapped once; spans are used no more.
        let _ = unsafe { munmap(self.start.cast(), self.len.max(1)) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::config::ShmConfig;

    #[test]
    fn mappings_are_aligned_and_leave_nothing_behind() {
        let memory = SharedMemory::create(12_288, 0, &ShmConfig::default()).unwrap();
        let maps = || std::fs::read_to_string("/proc/self/maps").unwrap();
        for align in [1, 4096, 1 << 21, 1 << 30] {
            let mapping = Mapping::aligned(&memory, align).unwrap();
            // SAFETY: the span is not kept.
            let address = unsafe { mapping.span(0, 1) }.as_mut_ptr() as u64;
            assert!(address.is_multiple_of(align), "{address:#x} for {align}");
            let name = format!("{address:x}-{:x} ", address + 12_288);
            assert!(maps().lines().any(|line| line.starts_with(&name) && line.contains("rw-s")), "{name}");
            drop(mapping);
            assert!(!maps().contains(&name));
        }
        assert!(Mapping::aligned(&memory, 1 << 63).is_err());
    }
}
