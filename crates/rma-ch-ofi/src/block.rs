//! Memory that packets leave from and arrive in, in slots of one length.
//!
//! A slot belongs to the provider from the call that hands it over to the completion of that call, and to
//! this crate otherwise; the holder of the slot's number knows which of the two. The bytes are this process's
//! own: no window and no buffer of a user lies here.

use crate::abi::FidMr;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::NonNull;

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
    /// So many slots, zeroed: what is never used costs no memory.
    pub(crate) fn new(block: u32, slot_len: usize, count: u32, purpose: Purpose) -> Self {
        const PAGE: usize = 4096;
        let slot_len = slot_len.next_multiple_of(64);
        let bytes = slot_len * count as usize;
        let layout =
            Layout::from_size_align(bytes.max(1), PAGE).expect("sizes are bounded by their variables");
        // SAFETY: the size is not zero.
        let memory =
            NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        let operation = |slot| {
            UnsafeCell::new(Operation { notes: [std::ptr::null_mut(); 8], place: SlotName { block, slot } })
        };
        let operations = (0..count).map(operation).collect();
        Self { memory, layout, slot_len, operations, purpose, registration: std::ptr::null_mut() }
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
            return std::ptr::null_mut();
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
        // SAFETY: allocated with this layout, and the endpoint that used it is closed.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}
