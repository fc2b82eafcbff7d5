//! Errors of this project's library as errors of the host: its class, our text, and the handler of the window or communicator.
//!
//! A code is the class: hosts do not add texts to classes of their own. What the library says of a thread's last error is
//! what `MPI_Error_string` answers for its class, and what is printed when the handler ends the job.

use crate::abi::{Handle, class_for};
use crate::library::host;
use crate::memory::read_handle;
use crate::{ours, theirs, world};
use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_void};

thread_local! {
    /// Code and text of this thread's last error.
    static LAST: RefCell<Option<(c_int, String)>> = const { RefCell::new(None) };
}

/// An error that the guest has found, or brought from the library.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Of the standard ABI.
    class: c_int,
    text: String,
}

/// `MPI_ERR_TYPE` of the standard ABI.
pub(crate) const ERR_TYPE: c_int = 3;
/// `MPI_ERR_OP`.
pub(crate) const ERR_OP: c_int = 10;
/// `MPI_ERR_GROUP`.
pub(crate) const ERR_GROUP: c_int = 9;
/// `MPI_ERR_ARG`.
pub(crate) const ERR_ARG: c_int = 13;
/// `MPI_ERR_OTHER`.
pub(crate) const ERR_OTHER: c_int = 16;

impl Failure {
    #[cold]
    pub(crate) fn new(class: c_int, text: impl Into<String>) -> Box<Self> {
        Box::new(Self { class, text: text.into() })
    }

    /// The error behind a code of the library's, of this thread's last call.
    #[cold]
    pub(crate) fn of_code(code: c_int) -> Box<Self> {
        let (mut class, mut text, mut len) = (ERR_OTHER, [0; 512], 0);
        // SAFETY: room for a number, and for as long a text as there is.
        unsafe {
            ours::error_class(code, &raw mut class);
            ours::error_string(code, text.as_mut_ptr(), &raw mut len);
        }
        // SAFETY: the library has ended the text, or it is all zeros.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned();
        Box::new(Self { class, text })
    }

    /// The code of the host, whose text is this error's from now on.
    fn code(&self) -> c_int {
        let code = class_for(host().family, self.class);
        LAST.with_borrow_mut(|last| *last = Some((code, self.text.clone())));
        code
    }

    /// What is printed when a handler ends the job.
    fn tell_if_fatal(&self, ask: impl FnOnce(*mut c_void) -> c_int) {
        let mut room = [0usize; 1];
        if ask(room.as_mut_ptr().cast()) != 0 {
            return;
        }
        // SAFETY: the host has stored a handle, which it gives for keeps.
        unsafe {
            if host().constants.fatal.contains(&read_handle(room.as_ptr().cast(), 0)) {
                eprintln!("rma-guest: rank {}: {}", world::rank(), self.text);
            }
            theirs::errhandler_free(room.as_mut_ptr().cast());
        }
    }

    /// Raises it by the handler of a window of the host.
    #[cold]
    #[inline(never)]
    pub(crate) fn raise_at_window(&self, win: Handle) -> c_int {
        let code = self.code();
        // SAFETY: a window that the program has, and room for a handle.
        self.tell_if_fatal(|to| unsafe { theirs::win_get_errhandler(win, to) });
        // SAFETY: as above.
        unsafe { theirs::win_call_errhandler(win, code) };
        code
    }

    /// Raises it by the handler of a communicator of the host.
    #[cold]
    #[inline(never)]
    pub(crate) fn raise_at_comm(&self, comm: Handle) -> c_int {
        let code = self.code();
        // SAFETY: a communicator that the program has, and room for a handle.
        self.tell_if_fatal(|to| unsafe { theirs::comm_get_errhandler(comm, to) });
        // SAFETY: as above.
        unsafe { theirs::comm_call_errhandler(comm, code) };
        code
    }
}

/// The text of this thread's last error, if that has this code, once: later the program may ask about an error of the host with the same.
pub(crate) fn take_text(code: c_int) -> Option<String> {
    let take =
        |last: &RefCell<Option<(c_int, String)>>| last.borrow_mut().take_if(|(known, _)| *known == code);
    LAST.try_with(take).ok().flatten().map(|(_, text)| text)
}

/// The answer to a program whose call on a window came to this code of the library's.
#[inline(always)]
pub(crate) fn settle(win: Handle, code: c_int) -> c_int {
    if code == 0 { 0 } else { raise(win, code) }
}

#[cold]
#[inline(never)]
fn raise(win: Handle, code: c_int) -> c_int {
    Failure::of_code(code).raise_at_window(win)
}
