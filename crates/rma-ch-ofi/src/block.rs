//! Memory that packets leave from and arrive in, in slots of one length.
//!
//! A slot belongs to the provider from the call that hands it over to the completion of that call, and to
//! this crate otherwise; the holder of the slot's number knows which of the two. The bytes are this process's
//! own: no window and no buffer of a user lies here.

use crate::abi::FidMr;
use std::alloc::{Layout, handle_alloc_error};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

/// What the provider gives back when it is done with a slot. It keeps notes of its own in the first part (`FI_CONTEXT2`).
#[repr(C)]
pub(crate) struct Operation {
    notes: [*mut c_void; 8],
    place: SlotName,
}

/// A slot of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotName {
    pub(crate) block: u32,
    pub(crate) slot: u32,
}

/// What slots are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Packets that are sent.
    Send,
    /// Packets that arrive.
    Receive,
    /// Parts of bodies that are read from a peer's memory.
    Read,
    /// Transfers, whose bytes lie elsewhere: slots of no bytes.
    Transfer,
}

/// Slots of one length.
pub(crate) struct Block {
    memory: NonNull<u8>,
    layout: Layout,
    slot_len: usize,
    operations: Box<[UnsafeCell<Operation>]>,
    pub(crate) purpose: Purpose,
    pub(crate) registration: *mut FidMr,
}

impl Block {
    /// So many slots, zeroed: what is never used costs no memory. The allocator would write the zeros itself.
    pub(crate) fn new(block: u32, slot_len: usize, count: u32, purpose: Purpose) -> Self {
        const PAGE: usize = 4096;
        let slot_len = slot_len.next_multiple_of(64);
        let bytes = slot_len * count as usize;
        let layout =
            Layout::from_size_align(bytes.max(1), PAGE).expect("sizes are bounded by their variables");
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, which no other value names.
        let memory = unsafe { libc::mmap(null_mut(), layout.size(), access, kind, -1, 0) };
        let memory = NonNull::new(memory.cast::<u8>())
            .filter(|memory| memory.as_ptr().cast() != libc::MAP_FAILED)
            .unwrap_or_else(|| handle_alloc_error(layout));
        let operation =
            |slot| UnsafeCell::new(Operation { notes: [null_mut(); 8], place: SlotName { block, slot } });
        let operations = (0..count).map(operation).collect();
        Self { memory, layout, slot_len, operations, purpose, registration: null_mut() }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.layout.size()
    }

    pub(crate) fn slot_len(&self) -> usize {
        self.slot_len
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    /// Where a slot begins.
    ///
    /// # Panics
    /// When there is no such slot.
    pub(crate) fn slot(&self, slot: u32) -> *mut u8 {
        assert!((slot as usize) < self.operations.len(), "slot {slot} of {}", self.operations.len());
        // SAFETY: the slot lies in the block, by the check.
        unsafe { self.start().add(slot as usize * self.slot_len) }
    }

    /// What identifies a slot to the provider.
    pub(crate) fn context(&self, slot: u32) -> *mut c_void {
        self.operations[slot as usize].get().cast()
    }

    /// What the provider's registered memory is called, where it wants that.
    pub(crate) fn descriptor(&self) -> *mut c_void {
        if self.registration.is_null() {
            return null_mut();
        }
        // SAFETY: registered and not closed.
        unsafe { (*self.registration).mem_desc }
    }
}

/// The slot that the provider gives back.
///
/// # Safety
/// The context is one of [`Block::context`], of a block that lives.
pub(crate) unsafe fn slot_of(context: *mut c_void) -> SlotName {
    // SAFETY: as the caller promises; the provider writes the notes only.
    unsafe { (*context.cast::<Operation>()).place }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: mapped with this size, and the endpoint that used it is closed.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.layout.size()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_were_never_used_take_no_memory() {
        let block = Block::new(0, 16_000, 1000, Purpose::Receive);
        // SAFETY: a byte of a slot that nothing else uses.
        unsafe { block.slot(500).write(1) };
        let mut pages = vec![0u8; block.bytes().div_ceil(4096)];
        // SAFETY: the block's memory, and a byte for each of its pages.
        let answer = unsafe { libc::mincore(block.start().cast(), block.bytes(), pages.as_mut_ptr().cast()) };
        assert_eq!(answer, 0);
        // A huge page at most.
        let there = pages.iter().filter(|page| **page & 1 == 1).count();
        assert!((1..=512).contains(&there), "{there} pages of {}", pages.len());
    }
}
