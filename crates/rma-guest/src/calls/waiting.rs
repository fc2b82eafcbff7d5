//! Calls of the host in which a program waits for other ranks, beside those that complete requests: windows are served in them.

use super::entry;
use crate::abi::Handle;
use crate::library::host as the_host;
use crate::memory::write_handle;
use crate::served::{is_any, until};
use crate::theirs;
use std::ffi::{c_int, c_void};

/// A flag that the host has not written: the call has failed, and the handler of its error has returned, after which MPICH 5's answers that
/// all is well.
const UNWRITTEN: c_int = -1;

entry! {
    /// `MPI_Barrier`.
    fn MPI_Barrier(comm: Handle); |host, own| {
        if !is_any() {
            return host(comm);
        }
        let mut status = [0usize; 8];
        through(status.as_mut_ptr().cast(), |request| theirs::ibarrier(comm, request))
    }

    /// `MPI_Recv`.
    fn MPI_Recv(
        to: *mut c_void, n: c_int, kind: Handle, from: c_int, tag: c_int, comm: Handle, status: *mut c_void,
    ); |host, own| {
        // MPICH 4.0 answers another status where such a receive has a request.
        if !is_any() || from == the_host().constants.proc_null {
            return host(to, n, kind, from, tag, comm, status);
        }
        through(status, |request| theirs::irecv(to, n, kind, from, tag, comm, request))
    }

    /// `MPI_Probe`.
    fn MPI_Probe(from: c_int, tag: c_int, comm: Handle, status: *mut c_void); |host, own| {
        if !is_any() {
            return host(from, tag, comm, status);
        }
        until(|| {
            let mut flag = UNWRITTEN;
            let code = theirs::iprobe(from, tag, comm, &raw mut flag, status);
            (code != 0 || flag != 0).then_some(code)
        })
    }

    /// `MPI_Mprobe`.
    fn MPI_Mprobe(
        from: c_int, tag: c_int, comm: Handle, message: *mut c_void, status: *mut c_void,
    ); |host, own| {
        if !is_any() {
            return host(from, tag, comm, message, status);
        }
        until(|| {
            let mut flag = UNWRITTEN;
            let code = theirs::improbe(from, tag, comm, &raw mut flag, message, status);
            (code != 0 || flag != 0).then_some(code)
        })
    }
}

/// A blocking call as its form with a request, and the end of that.
///
/// # Safety
/// A status of the program's, or room for one.
unsafe fn through(status: *mut c_void, begin: impl FnOnce(*mut c_void) -> c_int) -> c_int {
    let (mut room, mut flag) = ([0usize; 1], 0);
    let request: *mut c_void = room.as_mut_ptr().cast();
    // A call that fails, and whose handler returns, may give none and answer that all is well, as MPICH 5's does.
    // SAFETY: room for a handle.
    unsafe { write_handle(request, the_host().constants.request_null) };
    match begin(request) {
        0 => until(|| {
            // SAFETY: as the caller promises; the request that the call has given, and room for a flag.
            let code = unsafe { theirs::test(request, &raw mut flag, status) };
            (code != 0 || flag != 0).then_some(code)
        }),
        code => code,
    }
}
