//! Handles and numbers in the program's memory, as wide as the host has them. One of the few files with `unsafe`.

use crate::abi::Handle;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What of a register is a handle; everything until the host is known.
static MASK: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Handles are as wide as this says, from now on.
pub(crate) fn set_mask(mask: usize) {
    MASK.store(mask, Relaxed);
}

/// The handle in an argument.
#[inline(always)]
pub(crate) fn handle(argument: Handle) -> Handle {
    argument & MASK.load(Relaxed)
}

fn is_wide() -> bool {
    MASK.load(Relaxed) == usize::MAX
}

/// The handle at an address.
///
/// # Safety
/// There must be one of the host.
pub(crate) unsafe fn read_handle(from: *const c_void, index: usize) -> Handle {
    // SAFETY: as the caller promises.
    unsafe {
        if is_wide() {
            from.cast::<usize>().add(index).read()
        } else {
            from.cast::<u32>().add(index).read() as usize
        }
    }
}

/// Stores a handle.
///
/// # Safety
/// There must be room for one of the host.
pub(crate) unsafe fn write_handle(to: *mut c_void, handle: Handle) {
    // SAFETY: as the caller promises.
    unsafe {
        if is_wide() { to.cast::<usize>().write(handle) } else { to.cast::<u32>().write(handle as u32) }
    }
}

/// Room for handles that the host stores.
#[derive(Debug)]
pub(crate) struct Handles(Vec<usize>);

impl Handles {
    pub(crate) fn new(len: usize) -> Self {
        // One more, so that there is an address where there is no handle.
        Self(vec![0; len + 1])
    }

    pub(crate) fn room(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }

    pub(crate) fn get(&self, index: usize) -> Handle {
        assert!(index < self.0.len());
        // SAFETY: there are as many words, each of which has room for a handle of either width, and all have been written.
        unsafe { read_handle(self.0.as_ptr().cast(), index) }
    }
}

/// Stores a value where a program wants one.
///
/// # Safety
/// `to` must be null or have room.
pub(crate) unsafe fn store<T>(to: *mut c_void, value: T) {
    if !to.is_null() {
        // SAFETY: as the caller promises.
        unsafe { to.cast::<T>().write(value) }
    }
}

/// The integer of a flag.
pub(crate) fn flag(is_set: bool) -> c_int {
    c_int::from(is_set)
}
