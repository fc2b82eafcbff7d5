//! Calls of the host that complete requests: operations of the library under way are asked first.

use super::entry;
use crate::abi::Handle;
use crate::memory::read_handle;
use crate::request::{advance, is_any_under_way, release, settle};
use std::ffi::{c_int, c_void};

/// Functions that wait until all have ended, or look once.
macro_rules! asking {
    ($($wait:literal: fn $name:ident($count:ident, $requests:ident $(, $arg:ident: $ty:ty)*);)*) => {
        entry! {$(
            fn $name($count: c_int, $requests: *mut c_void $(, $arg: $ty)*); |host, own| {
                if is_any_under_way() && $count > 0 {
                    let code = advance($requests, $count as usize, $wait);
                    if code != 0 {
                        return code;
                    }
                }
                host($count, $requests $(, $arg)*)
            }
        )*}
    };
}

asking! {
    true: fn MPI_Waitall(count, requests, statuses: *mut c_void);
    false: fn MPI_Testall(count, requests, flag: *mut c_int, statuses: *mut c_void);
    false: fn MPI_Testany(count, requests, index: *mut c_int, flag: *mut c_int, status: *mut c_void);
    false: fn MPI_Testsome(count, requests, done: *mut c_int, indices: *mut c_int, statuses: *mut c_void);
    false: fn MPI_Request_get_status_all(count, requests, flag: *mut c_int, statuses: *mut c_void);
    false: fn MPI_Request_get_status_any(count, requests, index: *mut c_int, flag: *mut c_int, status: *mut c_void);
    false: fn MPI_Request_get_status_some(count, requests, done: *mut c_int, indices: *mut c_int, statuses: *mut c_void);
}

entry! {
    /// `MPI_Wait`.
    fn MPI_Wait(request: *mut c_void, status: *mut c_void); |host, own| {
        if is_any_under_way() && !request.is_null() {
            let code = settle(read_handle(request, 0), true);
            if code != 0 {
                return code;
            }
        }
        host(request, status)
    }

    /// `MPI_Test`.
    fn MPI_Test(request: *mut c_void, flag: *mut c_int, status: *mut c_void); |host, own| {
        if is_any_under_way() && !request.is_null() {
            let code = settle(read_handle(request, 0), false);
            if code != 0 {
                return code;
            }
        }
        host(request, flag, status)
    }

    /// `MPI_Request_get_status`.
    fn MPI_Request_get_status(request: Handle, flag: *mut c_int, status: *mut c_void); |host, own| {
        if is_any_under_way() {
            let code = settle(request, false);
            if code != 0 {
                return code;
            }
        }
        host(request, flag, status)
    }

    /// `MPI_Waitany`: by looks at both libraries, while an operation of ours is under way.
    fn MPI_Waitany(count: c_int, requests: *mut c_void, index: *mut c_int, status: *mut c_void); |host, own| {
        while is_any_under_way() && count > 0 {
            let mut flag = 0;
            let code = MPI_Testany::body(count, requests, index, &raw mut flag, status);
            if code != 0 || flag != 0 {
                return code;
            }
            std::thread::yield_now();
        }
        host(count, requests, index, status)
    }

    /// `MPI_Waitsome`, likewise.
    fn MPI_Waitsome(count: c_int, requests: *mut c_void, done: *mut c_int, indices: *mut c_int, statuses: *mut c_void); |host, own| {
        while is_any_under_way() && count > 0 {
            let code = MPI_Testsome::body(count, requests, done, indices, statuses);
            if code != 0 || done.read() != 0 {
                return code;
            }
            std::thread::yield_now();
        }
        host(count, requests, done, indices, statuses)
    }

    /// `MPI_Request_free`.
    fn MPI_Request_free(request: *mut c_void); |host, own| {
        if is_any_under_way() && !request.is_null() {
            release(read_handle(request, 0));
        }
        host(request)
    }
}
