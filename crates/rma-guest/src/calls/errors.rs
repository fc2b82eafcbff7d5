//! Texts of errors.

use super::entry;
use crate::errors::take_text;
use crate::library::host as the_host;
use std::ffi::{c_char, c_int};

entry! {
    /// `MPI_Error_string`: of this thread's last error with the code, what the library says.
    fn MPI_Error_string(code: c_int, text: *mut c_char, len: *mut c_int); |host, own| {
        let has_room = !text.is_null() && !len.is_null();
        match has_room.then(|| take_text(code)).flatten() {
            Some(known) => {
                let room = the_host().constants.error_text - 1;
                let mut bytes = known.into_bytes();
                bytes.truncate(room);
                text.copy_from_nonoverlapping(bytes.as_ptr().cast(), bytes.len());
                text.add(bytes.len()).write(0);
                len.write(bytes.len() as c_int);
                0
            }
            None => host(code, text, len),
        }
    }
}
