//! Threads that are cancelled (pthread_cancel(3)) within a call. One of the few files with `unsafe`.
//!
//! The C library of the system ends a cancelled thread by unwinding it from within a system call that waits. It would unwind calls
//! of this library half done, with locks held, and frames that nothing may unwind: the process would abort without a word. So no
//! call of this library is a cancellation point: while a thread is in one, its cancelability is off, and a cancellation takes
//! effect behind the call, at the next cancellation point of the program. Calls that end by a look before their entry point's
//! frame do so without a system call, or begin this themselves.
//!
//! A program that has started MPI with `MPI_THREAD_SINGLE`, and so has one thread (MPI 5.0 §11.6.2), has none that could cancel it: its calls go
//! without. Elsewhere the guard stands around the whole call, and costs it 50 instructions, two of which are atomic steps. No narrower place has all
//! that could be cancelled: besides the engine's sleep and the sockets of the channels there are the conversation with the launcher, pauses
//! between looks at a lock, descriptors that are closed where something is dropped, files of traces, lines on standard error, and
//! functions of the user that a call runs (operations, attributes, error handlers). The calls for which so many instructions count end
//! before their frame.
//!
//! Cancellation of the asynchronous kind (`PTHREAD_CANCEL_ASYNCHRONOUS`) is not supported.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// `PTHREAD_CANCEL_DISABLE` of the systems that this library is for.
const DISABLE: c_int = 1;

/// No state of the system's.
const UNCHANGED: c_int = -1;

/// Whether the program has one thread.
static IS_SINGLE: AtomicBool = AtomicBool::new(false);

/// The program has one thread, and will have no other.
pub(crate) fn trust_single_thread() {
    IS_SINGLE.store(true, Relaxed);
}

unsafe extern "C" {
    // Not in the package `libc`.
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// Keeps the calling thread from being cancelled as long as it lives; then things are as they were, also for calls within calls.
#[derive(Debug)]
pub(crate) struct Uncancelled {
    before: c_int,
}

impl Uncancelled {
    #[inline(always)]
    pub(crate) fn begin() -> Self {
        let mut before = UNCHANGED;
        if IS_SINGLE.load(Relaxed) {
            return Self { before };
        }
        // SAFETY: the function writes one number through its argument, and fails for unknown states only.
        unsafe { pthread_setcancelstate(DISABLE, &raw mut before) };
        Self { before }
    }
}

impl Drop for Uncancelled {
    #[inline(always)]
    fn drop(&mut self) {
        if self.before == UNCHANGED {
            return;
        }
        let mut unused = 0;
        // SAFETY: as above, and the state is one that the function has answered. A cancellation that waits is not acted upon here,
        // unless it is of the asynchronous kind, which programs may not use.
        unsafe { pthread_setcancelstate(self.before, &raw mut unused) };
    }
}
