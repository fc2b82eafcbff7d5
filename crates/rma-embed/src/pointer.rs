//! Arguments that are pointers: types that carry what a C caller promises, so that bodies of entry points are safe code.
//!
//! The promise, for all of them: null, or what the header says, for the length of the call.

use crate::entry::bad;
use rma_core::Result;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

/// A place for a result.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Out<T>(*mut T);

/// A place for a result that is there.
pub(crate) struct Place<T>(*mut T);

/// Elements to be read.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct In<T>(*const T);

/// A structure that begins with its size.
///
/// # Safety
/// All bytes zero is a value of the type, and its first field is a `usize`.
pub(crate) unsafe trait Versioned: Copy {}

impl<T> Out<T> {
    /// The place, before anything is done that would have to be told there.
    pub(crate) fn needed(self, name: &str) -> Result<Place<T>> {
        self.wanted()
            .ok_or_else(|| bad(format!("{name} is null or not aligned, but a place for a result is needed")))
    }

    /// The place, if the caller wants the result.
    pub(crate) fn wanted(self) -> Option<Place<T>> {
        (!self.0.is_null() && self.0.is_aligned()).then_some(Place(self.0))
    }
}

impl<T> Out<T> {
    /// The address, which is not null.
    pub(crate) fn present(self, name: &str) -> Result<*mut T> {
        if self.0.is_null() { Err(bad(format!("{name} is null"))) } else { Ok(self.0) }
    }

    /// The address, as it is.
    pub(crate) fn address(self) -> *const T {
        self.0
    }
}

impl<T> Place<T> {
    pub(crate) fn set(self, value: T) {
        // SAFETY: not null and aligned, and the caller's promise that it is a place for a `T`.
        unsafe { self.0.write(value) }
    }
}

impl<T: Copy> In<T> {
    /// The address, as it is.
    pub(crate) fn address(self) -> *const T {
        self.0
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The first element.
    pub(crate) fn get(self, name: &str) -> Result<T> {
        if self.0.is_null() {
            return Err(bad(format!("{name} is null")));
        }
        // SAFETY: not null, and the caller's promise that a `T` is there.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// So many elements.
    pub(crate) fn list(self, count: usize, name: &str) -> Result<Vec<T>> {
        if count > 0 && self.0.is_null() {
            return Err(bad(format!("{name} is null, but {count} elements are said to be there")));
        }
        if count > isize::MAX as usize / size_of::<T>().max(1) {
            return Err(bad(format!("{name} is said to have {count} elements")));
        }
        // SAFETY: the caller's promise that so many are there.
        Ok((0..count).map(|at| unsafe { self.0.add(at).read_unaligned() }).collect())
    }
}

impl<T: Versioned> In<T> {
    /// The structure, of this version or another: what an earlier one lacks is zero, and what a later one adds must be.
    pub(crate) fn sized(self, name: &str) -> Result<T> {
        let ours = size_of::<T>();
        let size = In(self.0.cast::<usize>()).get(name)?;
        if size < ours || size > 1 << 16 {
            return Err(bad(format!("{name} has size {size}, but {ours} is expected: set it with sizeof")));
        }
        let extra = In(self.0.cast::<u8>().wrapping_add(ours)).list(size - ours, name)?;
        if extra.iter().any(|byte| *byte != 0) {
            return Err(bad(format!("{name} asks for what version 1 of this library does not have")));
        }
        let mut value = MaybeUninit::<T>::zeroed();
        // SAFETY: the structure has at least `ours` bytes, and any bytes that C stores in its fields are values of them: numbers
        // and pointers that may be null.
        unsafe {
            std::ptr::copy_nonoverlapping(self.0.cast::<u8>(), value.as_mut_ptr().cast(), ours);
            Ok(value.assume_init())
        }
    }
}

impl<T> From<*const T> for In<T> {
    fn from(pointer: *const T) -> Self {
        Self(pointer)
    }
}

/// The text of a C string; `None` for null.
pub(crate) fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: not null, and whoever gave it has promised a string that ends.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}
