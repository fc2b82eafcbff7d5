//! Hints, from the host's objects to the library's and back.

use crate::abi::Handle;
use crate::library::host;
use crate::memory::{handle, read_handle};
use crate::{ours, theirs};
use std::ffi::{c_char, c_int};

/// An info of the library with what one of the host has; freed when it is dropped.
#[derive(Debug)]
pub(crate) struct Hints(Handle);

impl Hints {
    /// # Safety
    /// An info of the host, or its null handle.
    pub(crate) unsafe fn of(info: Handle) -> Self {
        let info = handle(info);
        if info == host().constants.info_null {
            return Self(ours::INFO_NULL);
        }
        let mut new = ours::INFO_NULL;
        // SAFETY: as the caller promises; each text has the room that the ABI's longest needs.
        unsafe {
            ours::info_create(&raw mut new);
            each(info, theirs::info_get_nkeys, theirs::info_get_nthkey, theirs::info_get, |key, value| {
                ours::info_set(new, key, value);
            });
        }
        Self(new)
    }

    pub(crate) fn handle(&self) -> Handle {
        self.0
    }

    /// Takes over an info that the library has made.
    pub(crate) fn taken(info: Handle) -> Self {
        Self(info)
    }

    /// An info of the host with the same.
    pub(crate) fn for_host(&self) -> Result<Handle, c_int> {
        let mut room = [0usize; 1];
        // SAFETY: room for a handle of either width, and an info of the library's.
        unsafe {
            let code = theirs::info_create(room.as_mut_ptr().cast());
            if code != 0 {
                return Err(code);
            }
            let new = read_handle(room.as_ptr().cast(), 0);
            each(self.0, ours::info_get_nkeys, ours::info_get_nthkey, ours::info_get, |key, value| {
                theirs::info_set(new, key, value);
            });
            Ok(new)
        }
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        if self.0 != ours::INFO_NULL {
            // SAFETY: it is this value's.
            unsafe { ours::info_free(&raw mut self.0) };
        }
    }
}

/// Longest texts of any ABI, with their ends.
const LONGEST: usize = 1025;

/// Hands over all pairs of an info.
///
/// # Safety
/// An info of the library whose functions these are.
unsafe fn each(
    info: Handle,
    len: unsafe fn(Handle, *mut c_int) -> c_int,
    key: unsafe fn(Handle, c_int, *mut c_char) -> c_int,
    value: unsafe fn(Handle, *const c_char, c_int, *mut c_char, *mut c_int) -> c_int,
    mut give: impl FnMut(*const c_char, *const c_char),
) {
    let mut n = 0;
    // SAFETY: as the caller promises; room for a number, and for the longest texts.
    unsafe {
        if len(info, &raw mut n) != 0 {
            return;
        }
        let most = host().constants.info_value.min(LONGEST - 1) as c_int;
        for index in 0..n {
            let (mut name, mut text, mut is_there) = ([0; LONGEST], [0; LONGEST], 0);
            let is_good = key(info, index, name.as_mut_ptr()) == 0
                && value(info, name.as_ptr(), most, text.as_mut_ptr(), &raw mut is_there) == 0;
            if is_good && is_there != 0 {
                give(name.as_ptr(), text.as_ptr());
            }
        }
    }
}
