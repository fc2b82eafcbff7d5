//! Arguments that are pointers: types that carry what a C caller promises, so that bodies of entry points are safe code.
//!
//! The promise, for all of them: null, or what the header says, for the length of the call.

use rma_ch_c::{Versioned, bad};
use rma_core::Result;
use std::ffi::c_char;

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

impl<T> Out<T> {
    /// The place, before anything is done whose result belongs there.
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

impl<T: Copy> Out<T> {
    /// Stores as many elements as there are, for which there is room.
    pub(crate) fn set_all(self, values: &[T]) {
        if !values.is_empty() && !self.0.is_null() {
            // SAFETY: the caller's promise that there is room for so many.
            unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), self.0, values.len()) }
        }
    }
}

impl<T: Versioned> Place<T> {
    /// Stores a structure whose size was looked at, as far as C has it.
    pub(crate) fn set_sized(self, value: T) {
        // SAFETY: the caller's promise that it has as many bytes as it says.
        unsafe { rma_ch_c::store_sized(self.0, &value) }
    }
}

impl Out<c_char> {
    /// Stores a text in room for `len` bytes.
    pub(crate) fn set_text(self, len: usize, text: &str) {
        // SAFETY: the caller's promise that there is so much room.
        unsafe { rma_ch_c::store_text(self.0, len, text) }
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
    /// The structure, of this version or a later one.
    pub(crate) fn sized(self, name: &str) -> Result<T> {
        // SAFETY: the caller's promise that it has as many bytes as it says.
        unsafe { rma_ch_c::sized(self.0, name) }
    }
}

impl<T> From<*const T> for In<T> {
    fn from(pointer: *const T) -> Self {
        Self(pointer)
    }
}

/// The text of a C string; `None` for null.
pub(crate) fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: its giver has promised a string that ends.
    unsafe { rma_ch_c::text_of(pointer) }
}
