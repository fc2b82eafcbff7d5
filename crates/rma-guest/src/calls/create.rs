//! Calls that make and free windows, and give them memory (MPI 5.0 §12.2).

use super::entry;
use crate::abi::{Aint, Handle};
use crate::errors::{Failure, settle};
use crate::info::Hints;
use crate::memory::read_handle;
use crate::{communicator, window};
use std::ffi::{c_int, c_void};

/// A function that makes a window with the library, if windows on the communicator are the library's.
macro_rules! making {
    ($(
        $(#[$meta:meta])*
        fn $name:ident($($arg:ident: $ty:ty),* ; $info:ident, $comm:ident $(, $base:ident)?);
    )*) => {
        entry! {$(
            $(#[$meta])*
            fn $name(
                $($arg: $ty,)* $info: Handle, $comm: Handle, $($base: *mut c_void,)? win: *mut c_void,
            ); |host, own| {
                let Some(comm) = communicator::find($comm) else {
                    return host($($arg,)* $info, $comm, $($base,)? win);
                };
                let (hints, mut new) = (Hints::of($info), 0usize);
                let room = if win.is_null() { win } else { (&raw mut new).cast() };
                let code = own($($arg,)* hints.handle(), comm, $($base,)? room);
                if code == 0 {
                    window::enter(stringify!($name), new, $comm, comm, win)
                } else {
                    Failure::of_code(code).raise_at_comm($comm)
                }
            }
        )*}
    };
}

making! {
    fn MPI_Win_create(base: *mut c_void, size: Aint, unit: c_int; info, comm);
    fn MPI_Win_create_c(base: *mut c_void, size: Aint, unit: Aint; info, comm);
    fn MPI_Win_create_dynamic(; info, comm);
    fn MPI_Win_allocate(size: Aint, unit: c_int; info, comm, base);
    fn MPI_Win_allocate_c(size: Aint, unit: Aint; info, comm, base);
    fn MPI_Win_allocate_shared(size: Aint, unit: c_int; info, comm, base);
    fn MPI_Win_allocate_shared_c(size: Aint, unit: Aint; info, comm, base);
}

entry! {
    /// `MPI_Win_free`.
    fn MPI_Win_free(win: *mut c_void); |host, own| {
        let found = if win.is_null() { None } else { window::find(read_handle(win, 0)) };
        match found {
            None => host(win),
            Some(window) => window::leave(window, win),
        }
    }

    /// `MPI_Win_attach`.
    fn MPI_Win_attach(win: Handle, base: *mut c_void, size: Aint); |host, own| {
        match window::find(win) {
            None => host(win, base, size),
            Some(window) => settle(win, own(window, base, size)),
        }
    }

    /// `MPI_Win_detach`.
    fn MPI_Win_detach(win: Handle, base: *const c_void); |host, own| {
        match window::find(win) {
            None => host(win, base),
            Some(window) => settle(win, own(window, base)),
        }
    }
}
