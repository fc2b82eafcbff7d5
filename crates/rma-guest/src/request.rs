//! Requests: an operation that has ended gets a request of the host that has ended; another one a generalized request of the host, which
//! every call of the host that completes requests asks the library about first.

use crate::abi::Handle;
use crate::errors::Failure;
use crate::library::host;
use crate::memory::{handle, read_handle, write_handle};
use crate::table::Table;
use crate::{ours, theirs};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// Requests of the host that stand for requests of the library which have not ended; each value is an [`UnderWay`].
static UNDER_WAY: Table<64> = Table::new();

/// An operation under way.
#[derive(Debug)]
struct UnderWay {
    own: Handle,
    /// Whose handler gets its error.
    win: Handle,
}

/// Whether the library has to be asked at all.
#[inline(always)]
pub(crate) fn is_any_under_way() -> bool {
    UNDER_WAY.len() != 0
}

/// A request of the host for one of the library's.
///
/// # Safety
/// A request that a call on the window has just given, and room for a handle of the host.
pub(crate) unsafe fn enter(mut own: Handle, win: Handle, to: *mut c_void) -> c_int {
    let (mut flag, mut room) = (0, [0usize; 1]);
    // SAFETY: as the caller promises.
    unsafe {
        let code = ours::test(&raw mut own, &raw mut flag, null_mut());
        if code != 0 {
            return Failure::of_code(code).raise_at_window(win);
        }
        if flag != 0 {
            return give_ended(to);
        }
        let code = theirs::grequest_start(query, end, cancel, null_mut(), room.as_mut_ptr().cast());
        if code != 0 {
            return code;
        }
        let request = read_handle(room.as_ptr().cast(), 0);
        let under_way = Box::into_raw(Box::new(UnderWay { own, win: handle(win) }));
        UNDER_WAY.insert(request, under_way as usize);
        write_handle(to, request);
    }
    0
}

/// A request of the host that has ended, as a send to the null process has when it begins.
///
/// # Safety
/// Room for a handle of the host.
pub(crate) unsafe fn give_ended(to: *mut c_void) -> c_int {
    let constants = &host().constants;
    let (byte, nobody, own) = (constants.byte, constants.proc_null, constants.comm_self);
    // SAFETY: no bytes, and as the caller promises.
    unsafe { theirs::isend(null_mut(), 0, byte, nobody, 0, own, to) }
}

/// Looks at those of these requests that are the library's. The host finds that they have ended.
///
/// # Safety
/// As many handles of requests.
pub(crate) unsafe fn advance(requests: *const c_void, count: usize) -> c_int {
    let mut code = 0;
    for index in 0..count {
        // SAFETY: as the caller promises.
        let one = unsafe { settle(read_handle(requests, index)) };
        code = if code == 0 { one } else { code };
    }
    code
}

/// The same for one.
///
/// # Safety
/// A request of the host.
pub(crate) unsafe fn settle(request: Handle) -> c_int {
    let request = handle(request);
    let Some(found) = UNDER_WAY.find(request) else { return 0 };
    let under_way = found as *mut UnderWay;
    let (mut own, mut flag) = (0, 0);
    // SAFETY: a value is the address of what `enter` has made until the key is removed below. The program completes a request in
    // one thread.
    unsafe {
        own = (*under_way).own.max(own);
        let code = ours::test(&raw mut own, &raw mut flag, null_mut());
        (*under_way).own = own;
        if code == 0 && flag == 0 {
            return 0;
        }
        let win = (*under_way).win;
        forget(request);
        theirs::grequest_complete(request);
        if code == 0 { 0 } else { Failure::of_code(code).raise_at_window(win) }
    }
}

/// The program frees a request; its operation goes on.
///
/// # Safety
/// A request of the host.
pub(crate) unsafe fn release(request: Handle) {
    let request = handle(request);
    if let Some(found) = UNDER_WAY.find(request) {
        // SAFETY: as above.
        unsafe {
            ours::request_free(&raw mut (*(found as *mut UnderWay)).own);
            forget(request);
            theirs::grequest_complete(request);
        }
    }
}

/// # Safety
/// No call uses what stands for the request.
unsafe fn forget(request: Handle) {
    if let Some(found) = UNDER_WAY.remove(request) {
        // SAFETY: as above; it was made of a box.
        drop(unsafe { Box::from_raw(found as *mut UnderWay) });
    }
}

unsafe extern "C" fn query(_: *mut c_void, status: *mut c_void) -> c_int {
    // SAFETY: the host's status.
    unsafe {
        theirs::status_set_elements(status, host().constants.byte, 0);
        theirs::status_set_cancelled(status, 0);
    }
    0
}

unsafe extern "C" fn end(_: *mut c_void) -> c_int {
    0
}

/// One-sided operations are not cancelled (MPI 5.0 §12.3.5).
unsafe extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
    0
}
