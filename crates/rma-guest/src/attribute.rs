//! Attributes on objects of the host, which tell when it frees them.

use crate::abi::Handle;
use std::ffi::{c_int, c_void};

/// A duplicate is another object.
pub(crate) unsafe extern "C" fn not_copied(
    _: Handle,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the host gives room for a flag.
    unsafe { flag.write(0) };
    0
}
