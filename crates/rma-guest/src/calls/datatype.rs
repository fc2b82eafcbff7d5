//! Datatypes that the program makes ready: one that it has not committed is refused in a window, as it is without the guest.

use super::entry;
use crate::abi::Handle;
use crate::datatype::{note_commit, note_duplicate};
use crate::memory::read_handle;
use crate::world::is_running;
use std::ffi::c_void;

entry! {
    /// `MPI_Type_commit`.
    fn MPI_Type_commit(datatype: *mut c_void); |host, own| {
        let code = host(datatype);
        if code == 0 && is_running() {
            note_commit(read_handle(datatype, 0));
        }
        code
    }

    /// `MPI_Type_dup`.
    fn MPI_Type_dup(old: Handle, new: *mut c_void); |host, own| {
        let code = host(old, new);
        if code == 0 && is_running() {
            note_duplicate(old, read_handle(new, 0));
        }
        code
    }
}
