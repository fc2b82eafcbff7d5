//! Calls of the host that complete requests: operations of the library under way are asked first. Those that wait do so by looks, while there
//! are such operations, or windows that others reach by packets.

use super::entry;
use crate::abi::Handle;
use crate::memory::read_handle;
use crate::request::{advance, is_any_under_way, release, settle};
use crate::served::{is_any, until};
use std::ffi::{c_int, c_void};

/// Functions that look once.
macro_rules! asking {
    ($(fn $name:ident($count:ident, $requests:ident $(, $arg:ident: $ty:ty)* $(,)?);)*) => {
        entry! {$(
            fn $name($count: c_int, $requests: *mut c_void $(, $arg: $ty)*); |host, own| {
                if is_any_under_way() && $count > 0 {
                    let code = advance($requests, $count as usize);
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
    fn MPI_Testall(count, requests, flag: *mut c_int, statuses: *mut c_void);
    fn MPI_Testany(count, requests, index: *mut c_int, flag: *mut c_int, status: *mut c_void);
    fn MPI_Testsome(count, requests, done: *mut c_int, indices: *mut c_int, statuses: *mut c_void);
    fn MPI_Request_get_status_all(count, requests, flag: *mut c_int, statuses: *mut c_void);
    fn MPI_Request_get_status_any(count, requests, index: *mut c_int, flag: *mut c_int, status: *mut c_void);
    fn MPI_Request_get_status_some(
        count, requests, done: *mut c_int, indices: *mut c_int, statuses: *mut c_void,
    );
}

/// Whether the host's own wait is not enough.
fn is_by_looks() -> bool {
    is_any_under_way() || is_any()
}

entry! {
    /// `MPI_Wait`.
    fn MPI_Wait(request: *mut c_void, status: *mut c_void); |host, own| {
        if !is_by_looks() {
            return host(request, status);
        }
        let mut flag = 0;
        until(|| {
            let code = MPI_Test::body(request, &raw mut flag, status);
            (code != 0 || flag != 0).then_some(code)
        })
    }

    /// `MPI_Test`.
    fn MPI_Test(request: *mut c_void, flag: *mut c_int, status: *mut c_void); |host, own| {
        if is_any_under_way() && !request.is_null() {
            let code = settle(read_handle(request, 0));
            if code != 0 {
                return code;
            }
        }
        host(request, flag, status)
    }

    /// `MPI_Request_get_status`.
    fn MPI_Request_get_status(request: Handle, flag: *mut c_int, status: *mut c_void); |host, own| {
        if is_any_under_way() {
            let code = settle(request);
            if code != 0 {
                return code;
            }
        }
        host(request, flag, status)
    }

    /// `MPI_Waitall`: one after the other has ended, and the host's own call ends them all. Looks at all of them at once fail under MPICH
    /// 4.0 where more than 64 are of several kinds.
    fn MPI_Waitall(count: c_int, requests: *mut c_void, statuses: *mut c_void); |host, own| {
        if !is_by_looks() || count <= 0 || requests.is_null() {
            return host(count, requests, statuses);
        }
        let (mut ended, mut failed) = (0, 0);
        until(|| {
            while ended < count as usize {
                let (mut flag, mut status) = (0, [0usize; 8]);
                let request = read_handle(requests, ended);
                let code = MPI_Request_get_status::body(request, &raw mut flag, status.as_mut_ptr().cast());
                if code == 0 && flag == 0 {
                    return None;
                }
                failed = if failed == 0 { code } else { failed };
                ended += 1;
            }
            Some(0)
        });
        let code = host(count, requests, statuses);
        if code == 0 { failed } else { code }
    }

    /// `MPI_Waitany`.
    fn MPI_Waitany(count: c_int, requests: *mut c_void, index: *mut c_int, status: *mut c_void); |host, own| {
        if !is_by_looks() {
            return host(count, requests, index, status);
        }
        let mut flag = 0;
        until(|| {
            let code = MPI_Testany::body(count, requests, index, &raw mut flag, status);
            (code != 0 || flag != 0).then_some(code)
        })
    }

    /// `MPI_Waitsome`.
    fn MPI_Waitsome(
        count: c_int, requests: *mut c_void, done: *mut c_int, indices: *mut c_int, statuses: *mut c_void,
    ); |host, own| {
        if !is_by_looks() || done.is_null() {
            return host(count, requests, done, indices, statuses);
        }
        until(|| {
            let code = MPI_Testsome::body(count, requests, done, indices, statuses);
            (code != 0 || done.read() != 0).then_some(code)
        })
    }

    /// `MPI_Request_free`.
    fn MPI_Request_free(request: *mut c_void); |host, own| {
        if is_any_under_way() && !request.is_null() {
            release(read_handle(request, 0));
        }
        host(request)
    }
}
